package solve

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// knapsack is the multiple-choice knapsack behind a [State]: maximise
// Σ value of one item per job subject to Σ use ≤ 1 in every dimension. Demands are
// shares of the capacity; an item has only those of the few dimensions that its
// GPU type uses.
type knapsack struct {
	n     int       // dimensions
	limit []float64 // by dimension: what the cluster has
	scale []bool    // by dimension: the cluster has some of it
	dims  [][]int   // by branch: the dimensions its items use, in rising order
	jobs  []kjob

	pricedView pricedView // what view has made of the items for the prices in use
}

// kjob is one job of a knapsack.
type kjob struct {
	items   []item // undominated options, by GPU type, then share of the dominant resource
	hull    []int  // items that can be best at some prices, see convexHull
	runs    []run  // the branches of the hull
	idle    float64
	current int // index in items, −1
}

// run is the part of a hull that is of one branch; it begins where the one before ends.
type run struct{ branch, to int }

// item is an option as the solver sees it.
type item struct {
	option int // index in the option table
	branch int // GPU type
	size   int // workers
	value  float64
	share  float64                   // largest use: the dominant share (DRF, Ghodsi et al., NSDI 2011)
	use    [allocate.MaxDims]float64 // shares, parallel to knapsack.dims[branch]
}

// newKnapsack keeps the options that a best assignment can have: they fit an empty
// cluster, have a finite value and are not dominated by another option of the job.
func newKnapsack(s allocate.State, v Values) *knapsack {
	c := allocate.NewCapacity(s.Cluster)
	k := &knapsack{jobs: make([]kjob, len(s.Jobs))}
	known := map[branchKey]int{}
	for _, t := range s.Cluster.GPUTypes() {
		k.branch(branchKey{gpuType: t}, known, c, nil)
	}
	q := newQuotas(&s, c)
	var pool []item
	for i := range s.Jobs {
		value, idle := func(n int) float64 { return s.Jobs[i].Options[n].Value }, s.Jobs[i].Idle
		if v != nil {
			value, idle = func(n int) float64 { return v(i, n) }, 0
		}
		pool = k.fitting(pool[:0], &s.Jobs[i], value, c, known, q)
		k.jobs[i] = kjob{items: slices.Clone(undominated(pool, s.Jobs[i].Current)), idle: idle, current: allocate.None}
	}
	k.limit = append(slices.Clone(c.Limit), q.limit...)
	k.n, k.scale = len(k.limit), make([]bool, len(k.limit))
	for d, l := range k.limit {
		k.scale[d] = l > 0
	}
	less := k.dropImplied()
	for i := range k.jobs {
		j := &k.jobs[i]
		if less {
			j.items = undominated(j.items, s.Jobs[i].Current)
		}
		j.current = slices.IndexFunc(j.items, func(it item) bool { return it.option == s.Jobs[i].Current })
		j.hull, j.runs = convexHull(j.items)
	}
	return k
}

// dropImplied drops the resources that cannot run out before GPUs do, and reports
// whether there are any. If no item of GPU type t takes more of a resource than
// α_t times its share of the GPUs, all items take at most Σ α_t; a resource with
// Σ α_t ≤ 1 is no limit. On most nodes this holds for cores and memory.
func (k *knapsack) dropImplied() bool {
	most := make([]map[int]float64, k.n) // by resource and the dimension of the GPUs: α
	for d := range most {
		most[d] = map[int]float64{}
	}
	for i := range k.jobs {
		for n := range k.jobs[i].items {
			it := &k.jobs[i].items[n]
			dims := k.dims[it.branch]
			for p, d := range dims[1:] {
				if u := it.use[p+1]; u > 0 {
					most[d][dims[0]] = max(most[d][dims[0]], u/it.use[0])
				}
			}
		}
	}
	implied, some := make([]bool, k.n), false
	for d := range implied {
		var sum float64
		for _, alpha := range most[d] {
			sum += alpha
		}
		implied[d] = sum <= 1
	}
	kept := make([][]int, len(k.dims)) // by branch: positions
	for b, dims := range k.dims {
		var left []int
		for p, d := range dims {
			if p == 0 || !implied[d] {
				kept[b], left = append(kept[b], p), append(left, d)
			}
		}
		some = some || len(left) < len(dims)
		k.dims[b] = left
	}
	for i := range k.jobs {
		for n := range k.jobs[i].items {
			it := &k.jobs[i].items[n]
			var use [allocate.MaxDims]float64
			for at, p := range kept[it.branch] {
				use[at] = it.use[p]
			}
			it.use = use
		}
	}
	return some
}

// branchKey is equal for options that use the same dimensions.
type branchKey struct{ gpuType, tenant string }

// branch returns the number of a branch, a new one if it has none yet.
func (k *knapsack) branch(key branchKey, known map[branchKey]int, c *allocate.Capacity, quotas []int) int {
	b, ok := known[key]
	if !ok {
		b = len(k.dims)
		known[key] = b
		k.dims = append(k.dims, append(c.Positions(key.gpuType), quotas...))
	}
	return b
}

// quotas are the quotas of tenants as dimensions, numbered after those of the
// cluster.
type quotas struct {
	state *allocate.State // nil: there are none
	first int
	at    map[branchKey]int // by GPU type and the tenant that has the quota
	limit []float64
}

func newQuotas(s *allocate.State, c *allocate.Capacity) *quotas {
	q := &quotas{at: map[branchKey]int{}}
	if !s.HasQuotas() {
		return q
	}
	q.state = s
	for i := range s.Jobs { // types that only options name get their dimensions first
		for n := range s.Jobs[i].Options {
			c.Dims(s.Jobs[i].Options[n].Use.GPUType)
		}
	}
	q.first = len(c.Limit)
	return q
}

// of returns the dimensions of the quotas that limit a job on a GPU type, and
// whose they are: jobs with the same name share a branch.
func (q *quotas) of(j *allocate.JobState, gpuType string) (dims []int, tenant string) {
	if q.state == nil {
		return nil, ""
	}
	names := q.state.QuotasOf(j, gpuType)
	for _, name := range names {
		key := branchKey{gpuType, name}
		d, known := q.at[key]
		if !known {
			d = q.first + len(q.limit)
			q.at[key], q.limit = d, append(q.limit, float64(q.state.Tenants[name].Quota[gpuType]))
		}
		if dims = append(dims, d); len(dims) == allocate.MaxDims-5 {
			break
		}
	}
	if len(names) > 0 {
		tenant = names[0]
	}
	return dims, tenant
}

// fitting appends the options of a job that fit an empty cluster and have a finite
// value. Option tables are large, so the solver reads them only here.
func (k *knapsack) fitting(items []item, j *allocate.JobState, value func(n int) float64, c *allocate.Capacity, known map[branchKey]int, q *quotas) []item {
	last, branch := "", -1
	var dims allocate.Dims
	var limits []int
	var tenant string
	for n := range j.Options {
		o := &j.Options[n]
		if branch < 0 || o.Use.GPUType != last {
			last = o.Use.GPUType
			limits, tenant = q.of(j, last)
			branch, dims = k.branch(branchKey{last, tenant}, known, c, limits), c.Dims(last)
		}
		it := item{option: n, value: value(n), branch: branch, size: o.Use.GPUs}
		it.share = c.Shares(&it.use, dims, &o.Use)
		for n, d := range limits {
			part := math.Inf(1)
			if l := q.limit[d-q.first]; l > 0 {
				part = float64(o.Use.GPUs) / l
			}
			it.use[len(k.dims[branch])-len(limits)+n] = part
			it.share = max(it.share, part)
		}
		if it.share <= 1+allocate.Slack && !math.IsNaN(it.value) && !math.IsInf(it.value, 0) {
			items = append(items, it)
		}
	}
	return items
}

// undominated drops items for which another item takes no more of anything
// and is worth at least as much. What the job runs on now survives ties. It
// reorders items and returns a part of them. Items of different GPU types
// never dominate each other: they need different GPUs.
func undominated(items []item, current int) []item {
	order := func(a, b item) int {
		switch {
		case a.branch != b.branch:
			return a.branch - b.branch
		case a.share != b.share:
			return cmp.Compare(a.share, b.share)
		case a.value != b.value:
			return cmp.Compare(b.value, a.value)
		case a.option == current:
			return -1
		case b.option == current:
			return 1
		}
		return a.option - b.option
	}
	flipEqualShares(items)
	if !slices.IsSortedFunc(items, order) {
		slices.SortFunc(items, order)
	}
	kept := items[:0]
	start, top := 0, math.Inf(-1) // of the items kept of this GPU type: the first, the largest value
	for n := range items {
		it := items[n]
		if len(kept) > start && kept[start].branch != it.branch {
			start, top = len(kept), math.Inf(-1)
		}
		// An item can only be dominated by one with a share no larger,
		// which the order has put before it.
		if it.value > top || !dominated(kept[start:], &it) {
			kept, top = append(kept, it), math.Max(top, it.value)
		}
	}
	return kept
}

// flipEqualShares reverses every run of items with the same share and rising
// value: a number of workers with a rising number of parameter servers. Tables are
// in order of size, so most then have the order of undominated without a sort.
func flipEqualShares(items []item) {
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].share == items[from].share && items[to].branch == items[from].branch && items[to].value > items[to-1].value {
			to++
		}
		slices.Reverse(items[from:to])
		from = to
	}
}

// dominated reports whether one of kept takes no more of anything than it
// and is worth at least as much.
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

// convexHull lists the items that can have the largest value − price at some
// prices. If all items of a GPU type need resources in the same proportions, as
// without parameter servers, these are the vertices of their upper concave
// envelope over size; else all items.
func convexHull(items []item) (out []int, runs []run) {
	out = make([]int, 0, min(len(items), 32))
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
		runs = append(runs, run{items[from].branch, len(out)})
		from = to
	}
	return out, runs
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
