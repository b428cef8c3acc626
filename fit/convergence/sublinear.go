package convergence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"knee/internal/nnls"
)

// SublinearCurve is l = 1/(a·x² + b·x + c) + d: how first-order methods
// (gradient descent and its variants) converge, as SLAQ (SoCC'17, section
// 4.1) models them. All parameters are ≥ 0. With a = 0 it is Optimus's
// l = 1/(β0·x + β1) + β2 (EuroSys'18, section 3.1).
type SublinearCurve struct {
	A, B, C float64 // per step², per step, 1
	D       float64 // loss at infinity
}

// At implements [CurveForm].
func (c SublinearCurve) At(x float64) float64 {
	if math.IsInf(x, 1) && c.A+c.B > 0 {
		return c.D
	}
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

// optimusName is the name of Optimus's family, which has its own
// preprocessing.
const optimusName = "optimus"

// limitCells is the number of limits that are tried.
const limitCells = 60

func optimusFamily() singleFamily {
	return singleFamily{
		name: optimusName, shapes: []int{limitCells}, names: []string{"beta0", "beta1", "beta2"},
		form: func(p []float64) CurveForm { return SublinearCurve{0, p[0], p[1], p[2]} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			c, rss := fitInverse(xs, ls, limitBelow(ls, u[0]), false)
			return []float64{c.B, c.C, c.D}, rss
		},
	}
}

func sublinearFamily() singleFamily {
	return singleFamily{
		name: "sublinear", shapes: []int{limitCells}, names: []string{"a", "b", "c", "d"},
		form: func(p []float64) CurveForm { return SublinearCurve{p[0], p[1], p[2], p[3]} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			c, rss := fitInverse(xs, ls, limitBelow(ls, u[0]), true)
			return []float64{c.A, c.B, c.C, c.D}, rss
		},
	}
}

// fitInverse fits a curve of a given limit d, for which 1/(l−d) is linear in x
// and, if asked for, x². The weights (l−d)² undo, to first order, what the
// inverse does to the errors. It returns the squared error in l.
func fitInverse(xs, ls []float64, d float64, squares bool) (SublinearCurve, float64) {
	m, b := mat.NewDense(len(xs), 3, nil), make([]float64, len(xs))
	top := slices.Max(xs) // scales the columns alike
	for i, l := range ls {
		gap := math.Max(l-d, 1e-9)
		x := xs[i] / top
		m.SetRow(i, []float64{gap * gap, gap * gap * x, gap * gap * x * x})
		b[i] = gap
	}
	beta := make([]float64, 3)
	var a mat.Matrix = m
	if !squares {
		a = m.Slice(0, len(xs), 0, 2)
	}
	found, _, err := nnls.Solve(mat.DenseCopyOf(a), b)
	if err != nil { // the inputs are finite, so this cannot be
		return SublinearCurve{}, math.Inf(1)
	}
	copy(beta, found)
	c := SublinearCurve{beta[2] / top / top, beta[1] / top, beta[0], d}
	var rss float64
	for i := range xs {
		r := c.At(xs[i]) - ls[i]
		rss += r * r
	}
	return c, rss
}
