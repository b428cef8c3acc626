package allocate

import (
	"cmp"
	"math"
	"slices"
)

// knapsack is the multiple-choice knapsack behind a [State]: maximise
// Σ value of one item per job subject to Σ use ≤ 1 in every dimension. Demands
// are in shares of the capacity, and an item stores them for the few
// dimensions that its GPU type touches only.
type knapsack struct {
	n     int     // dimensions
	scale []bool  // by dimension: the cluster has some of it
	dims  [][]int // by branch: the dimensions its items use, in rising order
	jobs  []kjob
}

// kjob is one job of a knapsack.
type kjob struct {
	items   []item // undominated options, by share of the dominant resource
	corners []int  // items that can be best at some prices, see corners
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
	use    []float64 // shares, parallel to knapsack.dims[branch]
}

// none is the choice of a job that gets nothing.
const none = -1

// newKnapsack keeps, of every option table, what could be part of a best
// assignment: options that fit an empty cluster, have a finite value and are
// not dominated by another option of the same job.
func newKnapsack(s State, c *capacity) *knapsack {
	k := &knapsack{n: len(c.limit), jobs: make([]kjob, len(s.Jobs)), scale: make([]bool, len(c.limit))}
	for d, l := range c.limit {
		k.scale[d] = l > 0
	}
	branches := map[string]int{}
	all, widest := 0, 0
	for _, t := range demandedTypes(s) {
		branches[t] = len(k.dims)
		k.dims = append(k.dims, c.dimsOf(t))
		widest = max(widest, len(c.dimsOf(t)))
	}
	for _, j := range s.Jobs {
		all += len(j.Options)
	}
	store := make([]float64, 0, all*widest) // one piece of memory for all demands
	var pool []item
	for i := range s.Jobs {
		j := &s.Jobs[i]
		pool = pool[:0]
		for n := range j.Options {
			o := &j.Options[n]
			at := len(store)
			store = c.shares(store, &o.Use)
			it := item{option: n, value: o.Value, branch: branches[o.Use.GPUType], size: o.Use.GPUs, use: store[at:len(store):len(store)]}
			it.share = slices.Max(append([]float64{0}, it.use...))
			if it.share <= 1+slack && !math.IsNaN(o.Value) && !math.IsInf(o.Value, 0) {
				pool = append(pool, it)
			}
		}
		kj := kjob{items: slices.Clone(undominated(pool, j.Current)), idle: j.Idle, current: none}
		kj.current = slices.IndexFunc(kj.items, func(it item) bool { return it.option == j.Current })
		kj.corners = corners(kj.items, len(k.dims))
		k.jobs[i] = kj
	}
	return k
}

// undominated drops items for which another item takes no more of anything
// and is worth at least as much. What the job runs on now survives ties. It
// reorders items and returns a part of them.
func undominated(items []item, current int) []item {
	slices.SortFunc(items, func(a, b item) int {
		switch {
		case a.share != b.share:
			return cmp.Compare(a.share, b.share)
		case a.value != b.value:
			return cmp.Compare(b.value, a.value)
		case (a.option == current) != (b.option == current):
			return boolFirst(a.option == current)
		}
		return a.option - b.option
	})
	kept := items[:0]
	for _, it := range items {
		// An item can only be dominated by one with a share no larger,
		// which the order has put before it.
		dominated := false
		for n := len(kept) - 1; n >= 0 && !dominated; n-- {
			dominated = kept[n].value >= it.value && fitsWithin(kept[n], it)
		}
		if !dominated {
			kept = append(kept, it)
		}
	}
	return kept
}

// fitsWithin reports whether a takes no more of anything than b. Items of
// different GPU types are taken to differ in what they need, which is so
// unless they need no GPU at all.
func fitsWithin(a, b item) bool {
	if a.branch != b.branch {
		return false
	}
	for n := range a.use {
		if a.use[n] > b.use[n] {
			return false
		}
	}
	return true
}

func boolFirst(b bool) int {
	if b {
		return -1
	}
	return 1
}

// corners lists the items that can have the largest value less price at some
// prices. Where all items of a GPU type need everything in the same
// proportions, as without parameter servers they do, these are the vertices
// of their upper concave envelope over size; else all of them.
func corners(items []item, branches int) []int {
	out := make([]int, 0, len(items))
	for b := range branches {
		start := len(out)
		for n, it := range items {
			if it.branch != b {
				continue
			}
			if !proportional(items, out[start:], it) {
				out = every(out[:start], items, b)
				break
			}
			for len(out)-start >= 2 && under(items[out[len(out)-2]], items[out[len(out)-1]], it) {
				out = out[:len(out)-1]
			}
			out = append(out, n)
		}
	}
	return out
}

// proportional reports whether it needs what the last of the items listed
// needs, times a factor.
func proportional(items []item, list []int, it item) bool {
	if len(list) == 0 {
		return true
	}
	last := items[list[len(list)-1]]
	for n, u := range it.use {
		if math.Abs(u*last.share-last.use[n]*it.share) > 1e-12*it.share*last.share {
			return false
		}
	}
	return true
}

// every lists the items of a branch.
func every(out []int, items []item, branch int) []int {
	for n, it := range items {
		if it.branch == branch {
			out = append(out, n)
		}
	}
	return out
}

// under reports whether b lies on or below the line from a to c.
func under(a, b, c item) bool {
	return (b.value-a.value)*(c.share-a.share) <= (c.value-a.value)*(b.share-a.share)
}
