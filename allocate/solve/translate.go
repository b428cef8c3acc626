package solve

import (
	"math"

	"knee/allocate"
)

// translation makes the items of a knapsack from the options of a state.
type translation struct {
	k        *knapsack
	state    *allocate.State
	limited  bool // some tenant has a quota
	capacity *allocate.Capacity
	branches map[branchKey]int
	quotaAt  map[branchKey]int // the dimension of a tenant's quota of a GPU type
	quotas   []float64         // limits of the dimensions after those of the capacity
}

// maxQuotas is the most quotas that an item can use besides its resources.
const maxQuotas = allocate.MaxDims - len(allocate.Dims{})

// branchKey is equal for options that use the same dimensions: those of a GPU type,
// and the quotas from that of a tenant up. It also names one quota.
type branchKey struct{ gpuType, tenant string }

func newTranslation(s *allocate.State, k *knapsack) *translation {
	t := &translation{k: k, state: s, limited: s.HasQuotas(), branches: map[branchKey]int{}, quotaAt: map[branchKey]int{}}
	if t.capacity = allocate.NewCapacity(s.Cluster); t.limited {
		t.capacity = s.Capacity() // types that only options have come before quotas
	}
	for _, gpuType := range s.Cluster.GPUTypes() {
		t.branch(branchKey{gpuType: gpuType}, nil)
	}
	return t
}

// branch returns the number of a branch, a new one if it has none yet.
func (t *translation) branch(key branchKey, quotas []int) int {
	b, ok := t.branches[key]
	if !ok {
		b = len(t.k.dims)
		t.branches[key] = b
		t.k.dims = append(t.k.dims, append(t.capacity.Positions(key.gpuType), quotas...))
	}
	return b
}

// quotasOf returns the dimensions of the quotas that limit a job on a GPU type, and
// the tenant of the first, which decides the branch.
func (t *translation) quotasOf(j *allocate.JobState, gpuType string) (dims []int, tenant string) {
	if !t.limited {
		return nil, ""
	}
	for _, name := range t.state.QuotasOf(j, gpuType) {
		key := branchKey{gpuType, name}
		d, known := t.quotaAt[key]
		if !known {
			d = len(t.capacity.Limit) + len(t.quotas)
			t.quotaAt[key], t.quotas = d, append(t.quotas, float64(t.state.Tenants[name].Quota[gpuType]))
		}
		if tenant == "" {
			tenant = name
		}
		dims = append(dims, d)
	}
	return dims, tenant
}

// fitting appends the options of a job that fit an empty cluster and have a finite
// value. Option tables are large, so the solver reads them only here.
func (t *translation) fitting(items []item, j *allocate.JobState, value func(n int) float64) []item {
	last, branch := "", -1
	var dims allocate.Dims
	var quotas []int
	for n := range j.Options {
		o := &j.Options[n]
		if branch < 0 || o.Use.GPUType != last {
			last = o.Use.GPUType
			var tenant string
			quotas, tenant = t.quotasOf(j, last)
			branch, dims = t.branch(branchKey{last, tenant}, quotas), t.capacity.Dims(last)
		}
		it := item{option: n, value: value(n), branch: branch, size: o.Use.GPUs}
		it.share = t.capacity.Shares(&it.use, dims, &o.Use)
		for n, d := range quotas {
			part := math.Inf(1)
			if l := t.quotas[d-len(t.capacity.Limit)]; l > 0 {
				part = float64(o.Use.GPUs) / l
			}
			it.use[len(t.k.dims[branch])-len(quotas)+n] = part
			it.share = max(it.share, part)
		}
		if it.share <= 1+allocate.Slack && !math.IsNaN(it.value) && !math.IsInf(it.value, 0) {
			items = append(items, it)
		}
	}
	return items
}
