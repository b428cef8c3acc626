package convergence

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"knee/internal/nnls"
)

// OptimusCurve is l = 1/(β0·x + β1) + β2 (Optimus, EuroSys'18, section 3.1):
// gradient descent approaches its limit β2 as 1/x.
type OptimusCurve struct {
	Beta [3]float64 `json:"beta"` // per step, 1, loss; all ≥ 0
}

// At returns the loss after x steps.
func (c OptimusCurve) At(x float64) float64 {
	return 1/math.Max(c.Beta[0]*x+c.Beta[1], 1e-12) + c.Beta[2]
}

// StepsTo returns the steps to a loss, false if it is never reached.
func (c OptimusCurve) StepsTo(loss float64) (float64, bool) {
	gap := loss - c.Beta[2]
	if gap <= 0 {
		return 0, false
	}
	need := 1/gap - c.Beta[1]
	if need <= 0 {
		return 0, true
	}
	if c.Beta[0] <= 0 {
		return 0, false
	}
	return need / c.Beta[0], true
}

// optimusName is the name of Optimus's family, which has its own
// preprocessing.
const optimusName = "optimus"

func optimusFamily() singleFamily {
	return singleFamily{
		name: optimusName, shapes: []int{limitCells}, names: []string{"beta0", "beta1", "beta2"},
		form: func(p []float64) CurveForm { return OptimusCurve{[3]float64(p)} },
		solve: func(u, xs, ls []float64) ([]float64, float64) {
			c, rss := fitLimit(xs, ls, limitBelow(ls, u[0]))
			return c.Beta[:], rss
		},
	}
}

// limitCells is the number of limits β2 the posterior is spread over.
const limitCells = 60

// fitLimit fits β0 and β1 for a given β2: 1/(l−β2) is linear in x. The
// weights (l−β2)² undo, to first order, what taking the inverse does to the
// errors. It returns the squared error in l.
func fitLimit(xs, ls []float64, limit float64) (OptimusCurve, float64) {
	a, b := mat.NewDense(len(xs), 2, nil), make([]float64, len(xs))
	for i, l := range ls {
		gap := math.Max(l-limit, 1e-9)
		a.SetRow(i, []float64{gap * gap * xs[i], gap * gap})
		b[i] = gap
	}
	beta, _, err := nnls.Solve(a, b)
	if err != nil { // the inputs are finite, so this cannot be
		return OptimusCurve{}, math.Inf(1)
	}
	c := OptimusCurve{Beta: [3]float64{beta[0], beta[1], limit}}
	var rss float64
	for i := range xs {
		d := c.At(xs[i]) - ls[i]
		rss += d * d
	}
	return c, rss
}
