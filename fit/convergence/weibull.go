package convergence

import (
	"math"
	"slices"
)

// WeibullCurve is l = a·exp(−(x/τ)^δ) + c, a stretched exponential (Domhan
// et al., IJCAI'15, "weibull"). With δ = 1 it is the linear (geometric)
// convergence l = μ^(x−b) + c of second-order methods, Newton's or L-BFGS, as
// SLAQ (SoCC'17, section 4.1) models it.
type WeibullCurve struct {
	A     float64 // loss at 0, less C
	Tau   float64 // steps
	Delta float64
	C     float64 // loss at infinity
}

// At implements [CurveForm].
func (c WeibullCurve) At(x float64) float64 {
	return c.A*stretched{c.Tau, c.Delta}.at(x) + c.C
}

// StepsTo implements [CurveForm].
func (c WeibullCurve) StepsTo(loss float64) (float64, bool) {
	return fallTo(loss, c.A, c.C, 1, func(v float64) float64 { return c.Tau * math.Pow(-math.Log(v), 1/c.Delta) })
}

func weibullFamily() singleFamily {
	return singleFamily{
		name: "weibull", shapes: []int{15, 8}, names: []string{"a", "tau", "delta", "c"},
		form: func(p []float64) CurveForm { return WeibullCurve{p[0], p[1], p[2], p[3]} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			g := stretched{logBetween(1./32, 32, u[0]) * slices.Max(xs), logBetween(1./4, 4, u[1])}
			a, c, rss := solveShape(g, xs, ls)
			return []float64{a, g.tau, g.delta, c}, rss
		},
	}
}

func linearRateFamily() singleFamily {
	return singleFamily{
		name: "linear-rate", shapes: []int{limitCells}, names: []string{"mu", "b", "c"},
		form: func(p []float64) CurveForm {
			tau := -1 / math.Log(p[0])
			return WeibullCurve{math.Exp(p[1] / tau), tau, 1, p[2]}
		},
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			tau := logBetween(1./64, 64, u[0]) * slices.Max(xs) // steps in which the excess falls by e
			a, c, rss := solveShape(stretched{tau, 1}, xs, ls)
			if a <= 0 {
				a = math.SmallestNonzeroFloat64 // b stands for the amplitude, which is thus above 0
			}
			return []float64{math.Exp(-1 / tau), tau * math.Log(a), c}, rss
		},
	}
}
