package queue

import (
	"cmp"
	"maps"
	"slices"

	"knee/data"
)

// tenants returns the tenants of jobs.yaml: the given ones, and those whose GPUs
// the scheduler limits; if none are given, also the accounts of all jobs and those
// above them. A limit without a GPU type is of all types. A plan counts what the fixed
// jobs of a tenant hold; what other fixed jobs hold under its limit is subtracted here.
func tenants(rows []Row, given []data.Tenant, snap *Snapshot) []data.Tenant {
	out := slices.Clone(given)
	for i := range out {
		out[i].Quota = maps.Clone(out[i].Quota)
	}
	limits := slices.DeleteFunc(slices.Clone(snap.Limits), func(l Limit) bool { return l.Tenant == "" || l.Running })
	for _, l := range limits {
		tenant(&out, l.Tenant)
	}
	if len(given) == 0 && len(out) > 0 {
		for _, r := range rows {
			descend(&out, tenantOf(r.Job), snap.Parents)
		}
	}
	for _, l := range limits {
		t, left := tenant(&out, l.Tenant), l.Most
		for _, r := range rows {
			if r.Model == "" && !below(out, tenantOf(r.Job), l.Tenant) {
				left -= l.Used(r.ID, r.GPUType, r.Nodes)
			}
		}
		if t.Quota == nil {
			t.Quota = map[string]int{}
		}
		of := cmp.Or(l.GPUType, data.AllTypes)
		if most, limited := t.Quota[of]; !limited || left < most {
			t.Quota[of] = max(0, left)
		}
	}
	return out
}

// tenant returns the tenant of a name, and appends it if it is new.
func tenant(all *[]data.Tenant, name string) *data.Tenant {
	i := slices.IndexFunc(*all, func(t data.Tenant) bool { return t.Name == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, data.Tenant{Name: name, Weight: 1})
	}
	return &(*all)[i]
}

// descend sets the parents of an account and of all accounts above it.
func descend(all *[]data.Tenant, account string, parents map[string]string) {
	for range len(parents) {
		parent, known := parents[account]
		if !known {
			return
		}
		tenant(all, parent)
		tenant(all, account).Parent = parent
		account = parent
	}
}

// below reports whether the tenant name is the tenant above or one of its descendants.
func below(all []data.Tenant, name, above string) bool {
	for range len(all) + 1 {
		if name == above {
			return true
		}
		i := slices.IndexFunc(all, func(t data.Tenant) bool { return t.Name == name })
		if i < 0 {
			return false
		}
		name = all[i].Parent
	}
	return false
}
