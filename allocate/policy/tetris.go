package policy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// tetris packs (Grandl et al., SIGCOMM 2014, sections 3.2 and 3.3): of the jobs that fit, the
// next to start is the one whose demand is best aligned with what is free, demand · free in
// shares of the cluster, plus a term that favours short remaining work, Σ demand × time, each
// weighted by its mean. Running jobs keep running. Simplified: alignment is with all nodes of
// a GPU type together.
func tetris(q *queue) {
	q.keep()
	for waiting := q.waiting(submitted); len(waiting) > 0; {
		best := q.pickTetris(waiting)
		q.serve(waiting[best])
		waiting = slices.Delete(waiting, best, best+1)
	}
}

// pickTetris is the position of the job of the highest score.
func (q *queue) pickTetris(waiting []int) int {
	align, work := make([]float64, len(waiting)), make([]float64, len(waiting))
	var meanAlign, meanWork float64
	for n, i := range waiting {
		j := &q.state.Jobs[i]
		use, share := &j.Options[gang(j)[0]].Use, 0.0
		branch := q.Branch(use.GPUType, "")
		demand, _ := q.Shares(branch, use)
		for d, at := range q.Branches[branch].Dims[:q.Branches[branch].Own] {
			if limit := q.Limit[at]; limit > 0 {
				align[n] += demand[d] * (limit - q.Used[at]) / limit
				share += demand[d]
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
	floats.AddScaled(align, -weight, work)
	return floats.MaxIdx(align)
}
