package allocate

import (
	"cmp"
	"math"
	"slices"
)

// knapsack is the multiple-choice knapsack behind a [State], in dense form:
// maximise Σ value of one item per job subject to Σ use ≤ limit.
type knapsack struct {
	limit []float64
	jobs  []kjob
}

// kjob is one job of a knapsack.
type kjob struct {
	items   []item // undominated options, by share of the dominant resource
	idle    float64
	current int // index in items, −1
}

// item is an option as the solver sees it.
type item struct {
	option int // index in the option table
	value  float64
	use    []float64 // parallel to knapsack.limit
	share  float64   // largest use ÷ limit: the dominant share (DRF, Ghodsi et al., NSDI 2011)
	branch string    // GPU type
	size   int       // workers
}

// none is the choice of a job that gets nothing.
const none = -1

// newKnapsack keeps, of every option table, what could be part of a best
// assignment: options that fit an empty cluster, have a finite value and are
// not dominated by another option of the same job.
func newKnapsack(s State, c *capacity) *knapsack {
	k := &knapsack{limit: c.limit, jobs: make([]kjob, len(s.Jobs))}
	for i, j := range s.Jobs {
		var items []item
		for n, o := range j.Options {
			it := item{option: n, value: o.Value, use: make([]float64, len(c.limit)), branch: o.Use.GPUType, size: o.Use.GPUs}
			c.add(it.use, o.Use, 1)
			it.share = k.share(it.use)
			if it.share <= 1+slack && !math.IsNaN(o.Value) && !math.IsInf(o.Value, 0) {
				items = append(items, it)
			}
		}
		kj := kjob{items: undominated(items, j.Current), idle: j.Idle, current: none}
		kj.current = slices.IndexFunc(kj.items, func(it item) bool { return it.option == j.Current })
		k.jobs[i] = kj
	}
	return k
}

// share returns the dominant share of a demand: its largest fraction of any
// limit, +Inf if it asks for something the cluster has none of.
func (k *knapsack) share(use []float64) float64 {
	var s float64
	for d, u := range use {
		if u > 0 {
			s = math.Max(s, u/k.limit[d])
		}
	}
	return s
}

// undominated drops items for which another item takes no more of anything
// and is worth at least as much. What the job runs on now survives ties.
func undominated(items []item, current int) []item {
	slices.SortStableFunc(items, func(a, b item) int {
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
	var kept []item
	for _, it := range items {
		// An item can only be dominated by one with a share no larger,
		// which the order has put before it.
		if !slices.ContainsFunc(kept, func(o item) bool { return o.value >= it.value && fitsWithin(o.use, it.use) }) {
			kept = append(kept, it)
		}
	}
	return kept
}

func fitsWithin(a, b []float64) bool {
	for d := range a {
		if a[d] > b[d] {
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

// selection is an assignment under construction with what it leaves free.
type selection struct {
	k      *knapsack
	choice []int // index in items, or none
	free   []float64
	value  float64
	price  []float64 // value per share of each resource; nil to go by the dominant share
}

func (k *knapsack) empty() *selection {
	s := &selection{k: k, choice: make([]int, len(k.jobs)), free: slices.Clone(k.limit)}
	for i := range s.choice {
		s.choice[i] = none
		s.value += k.jobs[i].idle
	}
	return s
}

func (s *selection) clone() *selection {
	return &selection{k: s.k, choice: slices.Clone(s.choice), free: slices.Clone(s.free), value: s.value, price: s.price}
}

// at returns the value of choice c of job i.
func (k *knapsack) at(i, c int) float64 {
	if c == none {
		return k.jobs[i].idle
	}
	return k.jobs[i].items[c].value
}

// needs returns the demand of choice c of job i, nil for none.
func (k *knapsack) needs(i, c int) []float64 {
	if c == none {
		return nil
	}
	return k.jobs[i].items[c].use
}

// fits reports whether job i could change to item c now.
func (s *selection) fits(i, c int) bool {
	to, from := s.k.needs(i, c), s.k.needs(i, s.choice[i])
	for d, u := range to {
		have := s.free[d]
		if from != nil {
			have += from[d]
		}
		if u > have+slack*s.k.limit[d] {
			return false
		}
	}
	return true
}

// set changes the choice of job i to c, whether it fits or not.
func (s *selection) set(i, c int) {
	for d, u := range s.k.needs(i, s.choice[i]) {
		s.free[d] += u
	}
	for d, u := range s.k.needs(i, c) {
		s.free[d] -= u
	}
	s.value += s.k.at(i, c) - s.k.at(i, s.choice[i])
	s.choice[i] = c
}

// replace makes the choices those of another selection.
func (s *selection) replace(choice []int) {
	for i := range choice {
		s.set(i, none)
	}
	for i, c := range choice {
		s.set(i, c)
	}
	s.value = s.total()
}

// total adds the values up afresh, free of the rounding that set gathers.
func (s *selection) total() float64 {
	var v float64
	for i, c := range s.choice {
		v += s.k.at(i, c)
	}
	return v
}

// allRun reports whether every job that has items has one of them.
func (s *selection) allRun() bool {
	for i, c := range s.choice {
		if c == none && len(s.k.jobs[i].items) > 0 {
			return false
		}
	}
	return true
}
