package solve

import (
	"errors"
	"math"

	"knee/allocate"
)

// Even is the policy of equal parts: every job as many workers as every
// other, as far as its limits and its options go, in order of submission.
// What the limits of some leave over is offered to the others, still in
// equal parts. It ignores value, which makes it the baseline.
type Even struct{}

// Allocate implements [Policy].
func (Even) Allocate(s allocate.State) (allocate.Assignment, error) {
	if s.Cluster == nil {
		return allocate.Assignment{}, errors.New("allocate: the state has no cluster")
	}
	c := allocate.NewCapacity(s.Cluster)
	for _, j := range s.Jobs {
		for _, o := range j.Options {
			c.Dims(o.Use.GPUType)
		}
	}
	e := &evenState{s: s, cap: c, free: append([]float64(nil), c.Limit...), choice: make([]int, len(s.Jobs))}
	for i := range e.choice {
		e.choice[i] = allocate.None
	}
	// Raise the common level one worker at a time; a job takes its largest
	// option up to the level. Nobody is passed over: the first to come gets
	// the odd worker.
	top := 0
	for _, j := range s.Jobs {
		for _, o := range j.Options {
			top = max(top, o.Use.GPUs)
		}
	}
	for level := 1; level <= top; level++ {
		for i := range s.Jobs {
			e.lift(i, level)
		}
	}
	return allocate.Assignment{Choice: e.choice}, nil
}

type evenState struct {
	s      allocate.State
	cap    *allocate.Capacity
	free   []float64
	choice []int
}

// lift moves job i to its largest option of at most level workers that fits,
// of those the fastest; a job that cannot go that low starts at its
// smallest.
func (e *evenState) lift(i, level int) {
	j := e.s.Jobs[i]
	smallest := math.MaxInt
	for _, o := range j.Options {
		smallest = min(smallest, o.Use.GPUs)
	}
	was := e.choice[i]
	if was != allocate.None {
		e.cap.Add(e.free, j.Options[was].Use, 1)
	}
	best := was
	for n, o := range j.Options {
		if o.Use.GPUs > max(level, smallest) || !e.fits(o.Use) {
			continue
		}
		if best == allocate.None || o.Use.GPUs > j.Options[best].Use.GPUs ||
			o.Use.GPUs == j.Options[best].Use.GPUs && o.Answer.Goodput.Mean > j.Options[best].Answer.Goodput.Mean {
			best = n
		}
	}
	e.choice[i] = best
	if best != allocate.None {
		e.cap.Add(e.free, j.Options[best].Use, -1)
	}
}

func (e *evenState) fits(u allocate.Use) bool {
	need := make([]float64, len(e.free))
	e.cap.Add(need, u, 1)
	for d := range need {
		if need[d] > e.free[d]+allocate.Slack*math.Max(1, e.cap.Limit[d]) {
			return false
		}
	}
	return true
}
