package convergence

import (
	"math"
	"slices"
)

// PowerCurve is l = a·(x + x0)^−α + c, the power law of learning curves
// (Hestness et al., 2017; Domhan et al., IJCAI'15, "pow3"), shifted by x0 ≥ 0.
type PowerCurve struct {
	A     float64 // loss at x + x0 = 1 step, less C
	X0    float64 // steps
	Alpha float64
	C     float64 // loss at infinity
}

// At implements [CurveForm].
func (c PowerCurve) At(x float64) float64 {
	return c.A*math.Pow(math.Max(x+c.X0, 1e-9), -c.Alpha) + c.C
}

// StepsTo implements [CurveForm].
func (c PowerCurve) StepsTo(loss float64) (float64, bool) {
	start := math.Pow(math.Max(c.X0, 1e-9), -c.Alpha)
	return fallTo(loss, c.A, c.C, start, func(v float64) float64 { return math.Pow(v, -1/c.Alpha) - c.X0 })
}

func powerFamily() singleFamily {
	return singleFamily{
		name: "power", shapes: []int{13, 9}, names: []string{"a", "x0", "alpha", "c"},
		form: func(p []float64) CurveForm { return PowerCurve{p[0], p[1], p[2], p[3]} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			alpha, x0 := logBetween(1./8, 4, u[0]), logBetween(1./64, 4, u[1])*slices.Max(xs)
			// Relative to x0, so that no power of a step count overflows.
			a, c, rss := solveShape(shiftedPower{alpha, x0}, xs, ls)
			return []float64{a * math.Pow(x0, alpha), x0, alpha, c}, rss
		},
	}
}
