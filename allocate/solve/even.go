package solve

import (
	"math"

	"knee/allocate"
)

// Even gives every job the same number of workers, within its options. What some jobs cannot
// use is divided equally among the others. It ignores values: a baseline.
func Even(s allocate.State) (allocate.Assignment, error) {
	if err := checkState(s); err != nil {
		return allocate.Assignment{}, err
	}
	top := 0
	k := newKnapsack(s, func(i, n int) float64 { // by size, then by speed
		o := &s.Jobs[i].Options[n]
		top = max(top, o.Use.GPUs)
		return float64(o.Use.GPUs) + o.Answer.Goodput.Mean/(1+o.Answer.Goodput.Mean)
	})
	// The job submitted first gets the odd worker.
	e := k.empty()
	for level := 1; level <= top; level++ {
		for i := range k.jobs {
			e.lift(i, level)
		}
	}
	return k.assignment(e), nil
}

// lift moves job i to its largest option of at most level workers that fits, the fastest of
// several; to its smallest if all are above level.
func (s *selection) lift(i, level int) {
	j, best := &s.k.jobs[i], s.choice[i]
	least := math.MaxInt
	for _, it := range j.items {
		least = min(least, it.size)
	}
	level = max(level, least)
	for c := range j.items {
		if j.items[c].size <= level && s.k.at(i, c) > s.k.at(i, best) && s.fits(i, c) {
			best = c
		}
	}
	s.set(i, best)
}
