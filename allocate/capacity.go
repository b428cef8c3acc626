package allocate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// Slack is the relative rounding error allowed where sums of demands meet a capacity.
const Slack = 1e-9

// Capacity is what the jobs of a state may use together, as a vector of limits: for each GPU
// type the worker slots, and the cores and bytes for their workers; over all nodes the cores
// and bytes for workers and parameter servers together; for each quota of a tenant the
// worker slots. Unlimited resources have no dimension. It ignores node boundaries, so an
// upper bound computed with it also holds for placed plans.
type Capacity struct {
	Limit    []float64 // by dimension
	Branches []Branch  // those of the GPU types of the cluster come first

	state   *State
	names   []string // of the dimensions
	tenants []string // of the dimensions, empty if not a quota
}

// Branch has the dimensions that options of a GPU type use, for jobs of the same quotas.
type Branch struct {
	Dims []int // GPUs of the type first, quotas last
	Own  int   // how many of them are of the nodes of the type: GPUs, cores and bytes
	of   []int // parallel: which of the amounts of a use is meant

	gpuType, tenant string // the tenant is that of the first quota, empty without one
}

// amounts are GPUs, cores and bytes on nodes of the type, cores and bytes of all nodes.
func (u *Use) amounts() [5]float64 {
	return [5]float64{float64(u.GPUs), u.CPUs, float64(u.Memory), u.CPUs + u.PSCPUs, float64(u.Memory) + float64(u.PSMemory)}
}

// Capacity adds up the nodes that are not drained.
func (s *State) Capacity() *Capacity {
	c := &Capacity{state: s}
	type sums struct{ gpus, cpus, mem float64 }
	all, types, by := sums{}, s.Cluster.GPUTypes(), map[string]*sums{}
	for _, t := range types {
		by[t] = &sums{}
	}
	for i := range s.Cluster.Nodes {
		if n := &s.Cluster.Nodes[i]; !n.Drained {
			cpus, mem, of := Unlimited(n.CPUs), Unlimited(float64(n.Memory)), by[n.GPUType]
			of.gpus, of.cpus, of.mem = of.gpus+float64(n.GPUs), of.cpus+cpus, of.mem+mem
			all.cpus, all.mem = all.cpus+cpus, all.mem+mem
		}
	}
	cores, bytes := c.dim("cores", "", all.cpus), c.dim("bytes of memory", "", all.mem)
	for _, t := range types {
		c.add(t, c.dim("GPUs of type "+t, "", by[t].gpus), c.dim("cores beside GPUs of type "+t, "", by[t].cpus),
			c.dim("bytes of memory beside GPUs of type "+t, "", by[t].mem), cores, bytes)
	}
	return c
}

// dim adds a dimension, unless the limit is infinite, and returns its number, else −1.
func (c *Capacity) dim(name, tenant string, limit float64) int {
	if math.IsInf(limit, 1) {
		return -1
	}
	c.names, c.tenants, c.Limit = append(c.names, name), append(c.tenants, tenant), append(c.Limit, limit)
	return len(c.Limit) - 1
}

// add adds the branch of a GPU type with the dimensions of the amounts, −1 if not limited.
func (c *Capacity) add(gpuType string, dims ...int) int {
	b := Branch{gpuType: gpuType, Dims: make([]int, 0, len(dims)), of: make([]int, 0, len(dims))}
	for amount, d := range dims {
		if d >= 0 {
			b.Dims, b.of = append(b.Dims, d), append(b.of, amount)
		}
		if amount < 3 {
			b.Own = len(b.Dims)
		}
	}
	c.Branches = append(c.Branches, b)
	return len(c.Branches) - 1
}

// Branch returns the branch of a GPU type for the jobs of a tenant, without quotas if that is
// empty. A type that no node has is added, with a limit of zero.
func (c *Capacity) Branch(gpuType, tenant string) int {
	quotas, first := c.state.Quotas(tenant, gpuType), ""
	if len(quotas) > 0 {
		first = quotas[0].Tenant
	}
	for at := range c.Branches {
		if b := &c.Branches[at]; b.gpuType == gpuType && b.tenant == first {
			return at
		}
	}
	if first == "" {
		return c.add(gpuType, c.dim("GPUs of type "+gpuType, "", 0), -1, -1, slices.Index(c.names, "cores"), slices.Index(c.names, "bytes of memory"))
	}
	b := c.Branches[c.Branch(gpuType, "")]
	b.tenant, b.Dims, b.of = first, slices.Clone(b.Dims), slices.Clone(b.of)
	for _, q := range slices.Backward(quotas) {
		name := fmt.Sprintf("GPUs of type %s for tenant %q", q.Of, q.Tenant)
		d := slices.Index(c.names, name)
		if d < 0 {
			d = c.dim(name, q.Tenant, float64(q.Most))
		}
		b.Dims, b.of = append(b.Dims, d), append(b.of, 0)
	}
	c.Branches = append(c.Branches, b)
	return len(c.Branches) - 1
}

// Quota is a limit on the worker slots of a tenant.
type Quota struct {
	Tenant string
	data.Limit
}

// Quotas are the limits on the worker slots of a GPU type for a tenant and those above it.
func (s *State) Quotas(tenant, gpuType string) (out []Quota) {
	for range s.Tenants {
		t, known := s.Tenants[tenant]
		if !known {
			break
		}
		for _, l := range t.Limits(gpuType) {
			out = append(out, Quota{tenant, l})
		}
		tenant = t.Parent
	}
	return out
}

// Add adds sign times a demand to the vector v.
func (c *Capacity) Add(v []float64, branch int, u *Use, sign float64) {
	b, amounts := &c.Branches[branch], u.amounts()
	for n, d := range b.Dims {
		v[d] += sign * amounts[b.of[n]]
	}
}

// Shares are the shares of limits that a demand takes, parallel to the dimensions of its
// branch, and the largest; infinite where the limit is zero.
func (c *Capacity) Shares(branch int, u *Use) (v []float64, most float64) {
	b, amounts := &c.Branches[branch], u.amounts()
	v = make([]float64, len(b.Dims))
	for n, d := range b.Dims {
		if x := amounts[b.of[n]]; x > 0 {
			v[n] = x / c.Limit[d]
		}
		most = max(most, v[n])
	}
	return v, most
}

// CanRun reports whether an option of a job fits while no other job runs.
func (c *Capacity) CanRun(j *JobState) bool {
	return slices.ContainsFunc(j.Options, func(o Option) bool {
		_, most := c.Shares(c.Branch(o.Use.GPUType, j.History.Tenant), &o.Use)
		return most <= 1+Slack
	})
}

// Tally is what jobs of a state use together.
type Tally struct {
	*Capacity
	Used []float64 // by dimension
}

// Tally starts without use.
func (s *State) Tally() *Tally {
	c := s.Capacity()
	return &Tally{c, make([]float64, len(c.Limit))}
}

// Add adds sign times the use u of job i, nil for nothing, and returns a dimension that is
// then exceeded, a quota first, −1 if there is none.
func (t *Tally) Add(i int, u *Use, sign float64) (exceeded int) {
	if exceeded = -1; u == nil {
		return exceeded
	}
	branch := t.Branch(u.GPUType, t.state.Jobs[i].History.Tenant)
	t.Used = append(t.Used, make([]float64, len(t.Limit)-len(t.Used))...) // for the quotas of a new branch
	t.Capacity.Add(t.Used, branch, u, sign)
	for _, d := range t.Branches[branch].Dims {
		if t.Used[d] > t.Limit[d]*(1+Slack)+Slack {
			exceeded = d
		}
	}
	return exceeded
}

// Tenant is the tenant of a quota, empty for another dimension.
func (c *Capacity) Tenant(dim int) string {
	if dim < 0 {
		return ""
	}
	return c.tenants[dim]
}

// Unlimited returns +Inf for 0, which in [data.Node] means no limit.
func Unlimited(x float64) float64 { return cmp.Or(max(0, x), math.Inf(1)) }
