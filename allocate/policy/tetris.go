package policy

import (
	"math"

	"knee/allocate"
)

// Tetris packs (Grandl et al., SIGCOMM 2014, sections 3.2 and 3.3): of the
// jobs that fit, the next to start is the one whose demand is best aligned
// with what is free, demand · free in shares of the cluster, plus a term that
// favours short remaining work, Σ demand × time. The two are weighted by their
// means, as the paper says. What runs keeps running. Machines are not told
// apart: alignment is with the cluster as a whole.
type Tetris struct{}

// Allocate implements [allocate.Policy].
func (Tetris) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	total := totals(s.Cluster)
	free := total
	take := func(i int) {
		for k, x := range amount(s.Jobs[i].Options[q.choice[i]].Use) {
			free[k] -= x
		}
	}
	var waiting []int
	for i := range s.Jobs {
		switch {
		case s.Jobs[i].Current >= 0 && q.serve(i):
			take(i)
		case len(s.Jobs[i].Options) > 0:
			waiting = append(waiting, i)
		}
	}
	for len(waiting) > 0 {
		best := pickTetris(s, waiting, free, total)
		i := waiting[best]
		waiting = append(waiting[:best], waiting[best+1:]...)
		if q.serve(i) {
			take(i)
		}
	}
	return q.assignment(), nil
}

// pickTetris is the position of the job of the highest score.
func pickTetris(s allocate.State, waiting []int, free, total vector) int {
	align, work := make([]float64, len(waiting)), make([]float64, len(waiting))
	var meanAlign, meanWork float64
	for n, i := range waiting {
		j := &s.Jobs[i]
		demand := amount(j.Options[gang(j)[0]].Use)
		var share float64
		for k := range demand {
			if !math.IsInf(total[k], 1) && total[k] > 0 {
				align[n] += demand[k] / total[k] * free[k] / total[k]
				share += demand[k] / total[k]
			}
		}
		if t := remaining(j); !math.IsInf(t, 1) {
			work[n] = share * t
		}
		meanAlign += align[n]
		meanWork += work[n]
	}
	weight := 0.0
	if meanWork > 0 {
		weight = meanAlign / meanWork
	}
	best := 0
	for n := range waiting {
		if align[n]-weight*work[n] > align[best]-weight*work[best] {
			best = n
		}
	}
	return best
}
