package solve

import (
	"math"

	"knee/allocate"
)

// Even is the policy of equal parts: every job as many workers as every
// other, as far as its limits and its options go, in order of submission.
// What the limits of some leave over is offered to the others, still in
// equal parts. It ignores value, which makes it the baseline.
type Even struct{}

// Allocate implements [allocate.Policy].
func (Even) Allocate(s allocate.State) (allocate.Assignment, error) {
	if err := checkState(s); err != nil {
		return allocate.Assignment{}, err
	}
	top := 0
	k := newKnapsack(s, func(i, n int) float64 { // by size, then by speed
		o := &s.Jobs[i].Options[n]
		top = max(top, o.Use.GPUs)
		return float64(o.Use.GPUs) + o.Answer.Goodput.Mean/(1+o.Answer.Goodput.Mean)
	})
	// Raise the common level one worker at a time; nobody is passed over: the
	// first to come gets the odd worker.
	e := k.empty()
	for level := 1; level <= top; level++ {
		for i := range k.jobs {
			e.lift(i, level)
		}
	}
	return k.assignment(e), nil
}

// lift moves job i to its largest option of at most level workers that fits,
// of those the fastest; a job that cannot go that low starts at its smallest.
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
