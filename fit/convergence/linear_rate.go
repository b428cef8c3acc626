package convergence

import (
	"math"
	"slices"
)

// LinearRateCurve is l = μ^(x−b) + c with 0 < μ < 1: the linear (geometric)
// convergence of second-order methods, Newton's or L-BFGS, as SLAQ (SoCC'17,
// section 4.1) models it.
type LinearRateCurve struct {
	Mu float64 // of the excess loss, per step
	B  float64 // steps at which the excess loss is 1
	C  float64 // loss at infinity
}

// At implements [CurveForm].
func (c LinearRateCurve) At(x float64) float64 { return math.Pow(c.Mu, x-c.B) + c.C }

// StepsTo implements [CurveForm].
func (c LinearRateCurve) StepsTo(loss float64) (float64, bool) {
	rate := -math.Log(c.Mu)
	return fallTo(loss, math.Pow(c.Mu, -c.B), c.C, 1, func(v float64) float64 { return -math.Log(v) / rate })
}

func linearRateFamily() singleFamily {
	return singleFamily{
		name: "linear-rate", shapes: []int{limitCells}, names: []string{"mu", "b", "c"},
		form: func(p []float64) CurveForm { return LinearRateCurve{p[0], p[1], p[2]} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			tau := logBetween(.02, 50, u[0]) * slices.Max(xs) // steps in which the excess falls by e
			a, c, rss := solveShape(func(x float64) float64 { return math.Exp(-x / tau) }, xs, ls)
			if a <= 0 {
				a = math.SmallestNonzeroFloat64 // b stands for the amplitude, which is thus above 0
			}
			return []float64{math.Exp(-1 / tau), tau * math.Log(a), c}, rss
		},
	}
}
