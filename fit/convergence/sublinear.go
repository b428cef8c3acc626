package convergence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"knee/internal/nnls"
)

// SublinearCurve is l = 1/(a·x² + b·x + c) + d: how first-order methods
// (gradient descent and its variants) converge, as SLAQ (SoCC'17, section
// 4.1) models them. All parameters are ≥ 0.
type SublinearCurve struct {
	A, B, C float64 // per step², per step, 1
	D       float64 // loss at infinity
}

// At implements [CurveForm].
func (c SublinearCurve) At(x float64) float64 {
	return 1/math.Max(c.A*x*x+c.B*x+c.C, 1e-12) + c.D
}

// StepsTo implements [CurveForm].
func (c SublinearCurve) StepsTo(loss float64) (float64, bool) {
	gap := loss - c.D
	if gap <= 0 {
		return 0, false
	}
	need := 1/gap - c.C
	switch {
	case need <= 0:
		return 0, true
	case c.A > 0:
		// The form of the root that does not cancel for small A.
		return 2 * need / (c.B + math.Sqrt(c.B*c.B+4*c.A*need)), true
	case c.B > 0:
		return need / c.B, true
	}
	return 0, false
}

func sublinearFamily() singleFamily {
	return singleFamily{
		name: "sublinear", shapes: []int{limitCells}, names: []string{"a", "b", "c", "d"},
		form: func(p []float64) CurveForm { return SublinearCurve{p[0], p[1], p[2], p[3]} },
		// For a given d, 1/(l−d) is linear in x² and x; the weights (l−d)²
		// undo, to first order, what the inverse does to the errors.
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			d := limitBelow(ls, u[0])
			m, b := mat.NewDense(len(xs), 3, nil), make([]float64, len(xs))
			top := slices.Max(xs) // scales the columns alike
			for i, l := range ls {
				gap := math.Max(l-d, 1e-9)
				x := xs[i] / top
				m.SetRow(i, []float64{gap * gap * x * x, gap * gap * x, gap * gap})
				b[i] = gap
			}
			beta, _, err := nnls.Solve(m, b)
			if err != nil {
				return nil, math.Inf(1)
			}
			c := SublinearCurve{beta[0] / top / top, beta[1] / top, beta[2], d}
			var rss float64
			for i := range xs {
				r := c.At(xs[i]) - ls[i]
				rss += r * r
			}
			return []float64{c.A, c.B, c.C, c.D}, rss
		},
	}
}
