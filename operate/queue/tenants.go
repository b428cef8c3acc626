package queue

import (
	"slices"

	"knee/data"
)

// tenants returns the tenants of jobs.yaml: the given ones, and those whose GPUs
// the scheduler limits; if none are given, also the accounts of all jobs and those
// above them. A quota is for planned jobs, so what fixed jobs hold is subtracted.
// A limit without a GPU type becomes a quota of each type.
func tenants(rows []Row, given []data.Tenant, snap *Snapshot) []data.Tenant {
	var out []data.Tenant
	for _, t := range given {
		left := map[string]int{}
		for gpu, most := range t.Quota {
			left[gpu] = max(0, most-held(rows, given, t.Name, gpu))
		}
		if t.Quota != nil {
			t.Quota = left
		}
		out = append(out, t)
	}
	for _, l := range snap.Limits {
		if l.Tenant == "" || l.Running {
			continue
		}
		left := l.Most
		for _, r := range rows {
			if r.Model == "" {
				left -= l.Used(r.ID, r.GPUType, r.Nodes)
			}
		}
		t := tenant(&out, l.Tenant)
		if t.Quota == nil {
			t.Quota = map[string]int{}
		}
		for _, n := range snap.Cluster.Nodes {
			if l.GPUType != "" && l.GPUType != n.GPUType {
				continue
			}
			if most, limited := t.Quota[n.GPUType]; !limited || left < most {
				t.Quota[n.GPUType] = max(0, left)
			}
		}
	}
	if len(given) == 0 && len(out) > 0 {
		for _, r := range rows {
			descend(&out, tenantOf(r.Job), snap.Parents)
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

// held is how many GPUs of a type the fixed jobs of a tenant and of all tenants
// below it have.
func held(rows []Row, all []data.Tenant, name, gpuType string) int {
	n := 0
	for _, r := range rows {
		if r.Model == "" && r.GPUType == gpuType && below(all, tenantOf(r.Job), name) {
			n += Workers(r.Nodes)
		}
	}
	return n
}

// below reports whether the tenant name is the tenant above or one of its
// descendants.
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
