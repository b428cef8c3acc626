package solve

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// knapsack is the multiple-choice knapsack of an [allocate.State]: maximise Σ value of
// one item per job subject to Σ use ≤ 1 in every dimension. Demands are shares of the
// capacity, in the few dimensions that the GPU type of an item uses.
type knapsack struct {
	limit []float64 // by dimension: what the cluster has, and what tenants may have
	dims  [][]int   // by branch: the dimensions its items use, in rising order
	jobs  []kjob
	of    *allocate.Capacity // that of limit and dims
}

// kjob is one job of a knapsack.
type kjob struct {
	items   []item // undominated options, by GPU type, then share of the dominant resource
	hull    []int  // items that can be best at some prices, see convexHull
	idle    float64
	current int // index in items, −1
}

// item is an option as the solver sees it.
type item struct {
	option int // index in the option table
	branch int // GPU type
	size   int // workers
	value  float64
	share  float64   // largest use: the dominant share (DRF, Ghodsi et al., NSDI 2011)
	use    []float64 // parallel to knapsack.dims[branch]
}

// newKnapsack keeps the options that a best assignment can have: they fit an empty
// cluster, have a finite value and are not dominated by another option of the job.
func newKnapsack(s allocate.State, v Values) *knapsack {
	c := s.Capacity()
	k := &knapsack{jobs: make([]kjob, len(s.Jobs)), of: c}
	var pool []item
	for i := range s.Jobs {
		value, idle := func(n int) float64 { return s.Jobs[i].Options[n].Value }, s.Jobs[i].Idle
		if v != nil {
			value, idle = func(n int) float64 { return v(i, n) }, 0
		}
		pool = fitting(pool[:0], c, &s.Jobs[i], value)
		k.jobs[i] = kjob{items: slices.Clone(undominated(pool, s.Jobs[i].Current)), idle: idle}
	}
	k.limit = c.Limit
	for _, b := range c.Branches {
		k.dims = append(k.dims, b.Dims)
	}
	less := k.dropImplied()
	for i := range k.jobs {
		j := &k.jobs[i]
		if less {
			j.items = undominated(j.items, s.Jobs[i].Current)
		}
		j.current = slices.IndexFunc(j.items, func(it item) bool { return it.option == s.Jobs[i].Current })
		j.hull = convexHull(j.items)
	}
	return k
}

// fitting appends the options of a job that fit an empty cluster and have a finite value.
// Option tables are large, so the solver reads them only here.
func fitting(items []item, c *allocate.Capacity, j *allocate.JobState, value func(n int) float64) []item {
	branch := 0
	for n := range j.Options {
		o := &j.Options[n]
		if n == 0 || o.Use.GPUType != j.Options[n-1].Use.GPUType {
			branch = c.Branch(o.Use.GPUType, j.History.Tenant)
		}
		it := item{option: n, value: value(n), branch: branch, size: o.Use.GPUs}
		if it.use, it.share = c.Shares(branch, &o.Use); it.share <= 1+allocate.Slack && !math.IsNaN(it.value) && !math.IsInf(it.value, 0) {
			items = append(items, it)
		}
	}
	return items
}

// dropImplied sets the use of resources that cannot run out before GPUs do to 0, and
// reports whether there are any. If no item of GPU type t takes more of a resource than
// α_t times its share of the GPUs, all items take at most Σ α_t; with Σ α_t ≤ 1 it is no
// limit. On most nodes this holds for cores and memory.
func (k *knapsack) dropImplied() (some bool) {
	most := make([]map[int]float64, len(k.limit)) // by resource and the dimension of the GPUs: α
	for d := range most {
		most[d] = map[int]float64{}
	}
	k.eachUse(func(gpus, d int, share float64, use *float64) {
		most[d][gpus] = max(most[d][gpus], *use/share)
	})
	implied := make([]bool, len(k.limit))
	for d := range implied {
		var sum float64
		for _, alpha := range most[d] {
			sum += alpha
		}
		implied[d] = sum <= 1
	}
	k.eachUse(func(_, d int, _ float64, use *float64) {
		if implied[d] {
			*use, some = 0, true
		}
	})
	return some
}

// eachUse calls f for every use of a resource besides GPUs, with the dimensions of the
// GPUs and of the resource, and the share of the GPUs.
func (k *knapsack) eachUse(f func(gpus, d int, share float64, use *float64)) {
	for i := range k.jobs {
		for n := range k.jobs[i].items {
			it := &k.jobs[i].items[n]
			dims := k.dims[it.branch]
			for p, d := range dims[1:] {
				if it.use[p+1] > 0 {
					f(dims[0], d, it.use[0], &it.use[p+1])
				}
			}
		}
	}
}

// undominated drops items for which another item of the branch takes no more of anything and
// has at least the value; of equal ones the current item stays. It reorders items.
func undominated(items []item, current int) []item {
	rank := func(option int) int {
		if option == current {
			return -1 // before all others
		}
		return option
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(a.branch-b.branch, cmp.Compare(a.share, b.share), cmp.Compare(b.value, a.value), rank(a.option)-rank(b.option))
	})
	kept := items[:0]
	start, top := 0, math.Inf(-1) // of the items kept of this branch: the first, the largest value
	for n := range items {
		it := items[n]
		if len(kept) > start && kept[start].branch != it.branch {
			start, top = len(kept), math.Inf(-1)
		}
		// Only items with no larger share, which come first, can dominate it.
		if it.value > top || !dominated(kept[start:], &it) {
			kept, top = append(kept, it), math.Max(top, it.value)
		}
	}
	return kept
}

// dominated reports whether an item of kept takes no more of anything and has at least
// the value.
func dominated(kept []item, it *item) bool {
	for n := len(kept) - 1; n >= 0; n-- {
		k := &kept[n]
		if k.value < it.value {
			continue
		}
		within := true
		for d := range k.use {
			within = within && k.use[d] <= it.use[d]
		}
		if within {
			return true
		}
	}
	return false
}

// convexHull lists the items that can have the largest value − price at some prices. If all
// items of a GPU type need resources in the same proportions, as without parameter servers,
// these are the vertices of their upper concave envelope over size; else all items.
func convexHull(items []item) []int {
	out := make([]int, 0, min(len(items), 32))
	for from := 0; from < len(items); {
		to, straight := from, true
		for ; to < len(items) && items[to].branch == items[from].branch; to++ {
			straight = straight && proportional(&items[from], &items[to])
		}
		start := len(out)
		for n := from; n < to; n++ {
			for straight && len(out)-start >= 2 && under(&items[out[len(out)-2]], &items[out[len(out)-1]], &items[n]) {
				out = out[:len(out)-1]
			}
			out = append(out, n)
		}
		from = to
	}
	return out
}

// proportional reports whether the use of b is that of a times a factor.
func proportional(a, b *item) bool {
	for n, u := range b.use {
		if math.Abs(u*a.share-a.use[n]*b.share) > 1e-12*b.share*a.share {
			return false
		}
	}
	return true
}

// under reports whether b lies on or below the line from a to c.
func under(a, b, c *item) bool {
	return (b.value-a.value)*(c.share-a.share) <= (c.value-a.value)*(b.share-a.share)
}
