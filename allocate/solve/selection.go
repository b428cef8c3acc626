package solve

import (
	"math"
	"slices"

	"knee/allocate"
)

// selection is an assignment under construction with what it leaves free.
type selection struct {
	k      *knapsack
	choice []int // index in items, or none
	free   []float64
}

func (k *knapsack) empty() *selection {
	return &selection{k, slices.Repeat([]int{allocate.None}, len(k.jobs)), slices.Repeat([]float64{1}, len(k.limit))}
}

func (s *selection) clone() *selection {
	return &selection{s.k, slices.Clone(s.choice), slices.Clone(s.free)}
}

// at returns the value of choice c of job i.
func (k *knapsack) at(i, c int) float64 {
	if c == allocate.None {
		return k.jobs[i].idle
	}
	return k.jobs[i].items[c].value
}

// item returns choice c of job i, nil for none.
func (k *knapsack) item(i, c int) *item {
	if c == allocate.None {
		return nil
	}
	return &k.jobs[i].items[c]
}

// beyond is what item to takes of its n-th dimension more than from, which may be nil.
func (k *knapsack) beyond(to, from *item, n int) float64 {
	switch {
	case from == nil:
		return to.use[n]
	case from.branch == to.branch:
		return to.use[n] - from.use[n]
	}
	if at := slices.Index(k.dims[from.branch], k.dims[to.branch][n]); at >= 0 {
		return to.use[n] - from.use[at]
	}
	return to.use[n]
}

// fits reports whether job i could change to choice c now.
func (s *selection) fits(i, c int) bool {
	to, from := s.k.item(i, c), s.k.item(i, s.choice[i])
	if to == nil {
		return true
	}
	for n, d := range s.k.dims[to.branch] {
		if s.k.beyond(to, from, n) > s.free[d]+allocate.Slack {
			return false
		}
	}
	return true
}

// set changes the choice of job i to c, whether it fits or not.
func (s *selection) set(i, c int) {
	if from := s.k.item(i, s.choice[i]); from != nil {
		for n, d := range s.k.dims[from.branch] {
			s.free[d] += from.use[n]
		}
	}
	if to := s.k.item(i, c); to != nil {
		for n, d := range s.k.dims[to.branch] {
			s.free[d] -= to.use[n]
		}
	}
	s.choice[i] = c
}

// total is the sum of the values.
func (s *selection) total() (v float64) {
	for i, c := range s.choice {
		v += s.k.at(i, c)
	}
	return v
}

// allRun reports whether every job that has items has one of them.
func (s *selection) allRun() bool {
	for i, c := range s.choice {
		if c == allocate.None && len(s.k.jobs[i].items) > 0 {
			return false
		}
	}
	return true
}

// slope is gain per share, +Inf for a gain without a share.
func slope(gain, share float64) float64 {
	if share <= 0 {
		if gain > 0 {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	return gain / share
}

// rounding is the largest error that a sum of values may have.
func rounding(sum float64) float64 { return 1e-12 * (1 + math.Abs(sum)) }
