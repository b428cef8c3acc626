package convergence

import (
	"math"
	"slices"
)

// WeibullCurve is l = a·exp(−(x/τ)^δ) + c, a stretched exponential (Domhan
// et al., IJCAI'15, "weibull").
type WeibullCurve struct {
	A     float64 // loss at 0, less C
	Tau   float64 // steps
	Delta float64
	C     float64 // loss at infinity
}

// At implements [CurveForm].
func (c WeibullCurve) At(x float64) float64 {
	return c.A*math.Exp(-math.Pow(x/c.Tau, c.Delta)) + c.C
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
			g := curveShape{shape: logBetween(.2, 3, u[1]), scale: logBetween(.02, 20, u[0]) * slices.Max(xs)}
			a, c, rss := solveShape(g.at, xs, ls)
			return []float64{a, g.scale, g.shape, c}, rss
		},
	}
}
