package fit

import (
	"math"
	"slices"

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

func optimusFamily() curveFamily {
	return curveFamily{
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

// fitCells fits the curve for every limit β2 on a grid, which is a linear
// problem, weighs the fits by their likelihood, and refines the best.
//
// The likelihood is tempered to a tenth of the points plus two: neighbouring
// points of a training curve are far from independent, and counting them all
// makes intervals that are wrong most of the time.
func (c *Convergence) fitCells(xs, ls []float64) {
	low, high := slices.Min(ls), slices.Max(ls)
	floor := 2 * math.Pow(.02*math.Max(high-low, 1e-3*high), 2)
	count := .1*float64(len(xs)) + 2
	limit := func(u float64) float64 { return limitBelow(ls, u) }
	best, bestRSS, bestU := OptimusCurve{}, math.Inf(1), 1.0
	var logs []float64
	for i := range limitCells {
		u := float64(i) / (limitCells - 1)
		curve, rss := fitLimit(xs, ls, limit(u))
		c.Cells = append(c.Cells, CurveWeight{Curve: curve})
		logs = append(logs, -.5*count*math.Log(rss+floor))
		if rss < bestRSS {
			best, bestRSS, bestU = curve, rss, u
		}
	}
	top, total := slices.Max(logs), 0.0
	for i, l := range logs {
		c.Cells[i].Weight = math.Exp(l - top)
		total += c.Cells[i].Weight
	}
	for i := range c.Cells {
		c.Cells[i].Weight /= total
	}
	c.Curve, bestRSS = refineLimit(xs, ls, limit, bestU, best, bestRSS)
	c.Noise = math.Sqrt(bestRSS / float64(len(xs)))
}

// refineLimit narrows β2 down by golden-section search around the best cell.
func refineLimit(xs, ls []float64, limit func(float64) float64, u float64, best OptimusCurve, rss float64) (OptimusCurve, float64) {
	const golden = 0.6180339887498949
	lo, hi := math.Max(u-1./(limitCells-1), 0), math.Min(u+1./(limitCells-1), 1)
	at := func(u float64) (OptimusCurve, float64) { return fitLimit(xs, ls, limit(u)) }
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	ca, ra := at(a)
	cb, rb := at(b)
	for range 60 {
		if ra < rb {
			hi, b, cb, rb = b, a, ca, ra
			a = hi - golden*(hi-lo)
			ca, ra = at(a)
		} else {
			lo, a, ca, ra = a, b, cb, rb
			b = lo + golden*(hi-lo)
			cb, rb = at(b)
		}
	}
	if ra < rss {
		best, rss = ca, ra
	}
	if rb < rss {
		best, rss = cb, rb
	}
	return best, rss
}

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
