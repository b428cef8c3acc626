package convergence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"knee/internal/nnls"
)

// solveShape fits l = a·g(x) + c with a, c ≥ 0 and returns them with the
// squared error.
func solveShape(g shape, xs, ls []float64) (amplitude, limit, rss float64) {
	m := mat.NewDense(len(xs), 2, nil)
	for i, x := range xs {
		m.SetRow(i, []float64{g.at(x), 1})
	}
	beta, _, err := nnls.Solve(m, ls)
	if err != nil { // a column that overflowed
		return 0, 0, math.Inf(1)
	}
	for i, x := range xs {
		d := beta[0]*g.at(x) + beta[1] - ls[i]
		rss += d * d
	}
	return beta[0], beta[1], rss
}

// fallTo returns where a·g(x) + c falls to a loss, given the inverse of g,
// which falls from g(0) to 0.
func fallTo(loss, amplitude, limit, start float64, inverse func(v float64) float64) (float64, bool) {
	switch {
	case loss >= amplitude*start+limit:
		return 0, true
	case loss <= limit || amplitude <= 0:
		return 0, false
	}
	x := math.Max(inverse((loss-limit)/amplitude), 0)
	return x, finite(x)
}

// limitBelow spreads u in [0, 1] over the limits between 0 and the lowest
// loss, dense below the latter: u = 0 is next to it and u = 1 is no loss at all.
func limitBelow(ls []float64, u float64) float64 {
	low := slices.Min(ls)
	return math.Max(low-math.Max(low, 1e-6)*math.Pow(10, -4*(1-u)), 0)
}
