package policy

import (
	"cmp"

	"knee/allocate"
)

// tickets are the weights that owners of jobs share a cluster by, by [tenant]: that of the
// tenant, or of its jobs if it gives none. A tenant divides its weight among its children
// that have jobs, by theirs; jobs of its own count as a child of weight 1. Simplified: what a
// child does not use goes to all, not first to its siblings.
func tickets(s allocate.State) map[string]float64 {
	out, owners, below := map[string]float64{}, map[string]bool{}, map[string]float64{} // weight below a tenant
	weight := func(tenant string) float64 { return cmp.Or(max(0, s.Tenants[tenant].Weight), 1) }
	counted := map[string]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		name := j.History.Tenant
		out[tenant(j)] = max(out[tenant(j)], cmp.Or(max(0, s.Tenants[name].Weight), weightOf(j)))
		owners[name] = true
		for up := s.Tenants[name].Parent; up != "" && !counted[name]; name, up = up, s.Tenants[up].Parent {
			counted[name] = true
			below[up] += weight(name)
		}
	}
	for name := range owners {
		if below[name] > 0 {
			below[name]++
		}
	}
	for name := range owners {
		if s.Tenants[name].Parent == "" && below[name] == 0 {
			continue
		}
		share, top := 1/cmp.Or(below[name], 1), name
		for up := s.Tenants[top].Parent; up != ""; top, up = up, s.Tenants[up].Parent {
			share *= weight(top) / below[up]
		}
		out["tenant "+name] = share * weight(top)
	}
	return out
}
