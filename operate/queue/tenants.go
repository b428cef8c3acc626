package queue

import (
	"maps"
	"slices"

	"knee/data"
)

// tenants are those of jobs.yaml: the given ones, and those whose GPUs the
// scheduler limits. What jobs hold that no plan changes is taken off a quota,
// which a plan compares with the jobs it changes. A limit of a scheduler that
// does not name a GPU type holds for each.
func tenants(rows []Row, given []data.Tenant, snap *Snapshot) []data.Tenant {
	out := slices.Clone(given)
	for _, name := range slices.Sorted(maps.Keys(snap.Quotas)) {
		at := slices.IndexFunc(out, func(t data.Tenant) bool { return t.Name == name })
		if at < 0 {
			at = len(out)
			out = append(out, data.Tenant{Name: name, Weight: 1})
		}
		quota := map[string]int{}
		for _, n := range snap.Cluster.Nodes {
			quota[n.GPUType] = snap.Quotas[name]
		}
		for gpu, most := range out[at].Quota {
			quota[gpu] = min(most, snap.Quotas[name])
		}
		out[at].Quota = quota
	}
	for i := range out {
		out[i].Quota = maps.Clone(out[i].Quota)
		_, anyType := snap.Quotas[out[i].Name]
		for gpu, most := range out[i].Quota {
			out[i].Quota[gpu] = max(0, most-held(rows, out, out[i].Name, func(t string) bool { return anyType || t == gpu }))
		}
	}
	return out
}

// held is how many GPUs fixed jobs of a tenant, and of those below it, hold.
func held(rows []Row, all []data.Tenant, tenant string, counts func(gpuType string) bool) int {
	n := 0
	for _, r := range rows {
		if r.Model != "" || !counts(r.GPUType) {
			continue
		}
		name := tenantOf(r.Job)
		for range len(all) + 1 {
			if name == tenant {
				n += Workers(r.Nodes)
				break
			}
			at := slices.IndexFunc(all, func(t data.Tenant) bool { return t.Name == name })
			if at < 0 {
				break
			}
			name = all[at].Parent
		}
	}
	return n
}
