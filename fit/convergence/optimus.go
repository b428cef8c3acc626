package convergence

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// OptimusCurve is l = 1/(β0·x + β1) + β2 (Peng et al., Optimus, EuroSys'18,
// section 3.1): how first-order methods converge. All parameters are ≥ 0.
type OptimusCurve struct {
	Beta0, Beta1 float64 // per step, 1
	Beta2        float64 // loss at infinity
}

// At returns the loss after x ≥ 0 steps.
func (c OptimusCurve) At(x float64) float64 {
	if math.IsInf(x, 1) && c.Beta0 > 0 {
		return c.Beta2
	}
	return 1/math.Max(c.Beta0*x+c.Beta1, 1e-12) + c.Beta2
}

// StepsTo returns the steps to a loss, false if it is never reached.
func (c OptimusCurve) StepsTo(loss float64) (float64, bool) {
	need := 1/(loss-c.Beta2) - c.Beta1
	switch {
	case !(loss > c.Beta2):
		return 0, false
	case need <= 0:
		return 0, true
	}
	return need / c.Beta0, c.Beta0 > 0
}

// SingleFit is Optimus's curve fitted to a record, in the terms of [Curve]:
// losses divided by Scale.
type SingleFit struct {
	Parameters []float64    `json:"parameters"` // of the best fit: β0, β1, β2
	Cells      []SingleCell `json:"cells"`      // alternatives behind the interval
}

// SingleCell is an alternative to the best fit, with its posterior weight.
type SingleCell struct {
	Parameters []float64 `json:"parameters"`
	Weight     float64   `json:"weight"`
}

// limitCells is the number of limits that are tried.
const limitCells = 60

// fitOptimus fits the curve to a record: every limit on a grid between zero and
// the lowest loss, dense below the latter, the others solved for; each weighed
// by its likelihood as in [posterior.add] with white noise; and the best
// refined by halving steps.
func fitOptimus(xs, ls []float64) *SingleFit {
	n := float64(len(xs))
	before := math.Pow(learned().Noise*math.Max(slices.Max(ls)-slices.Min(ls), 1e-9), 2)
	low := slices.Min(ls)
	solve := func(u float64) ([]float64, float64) {
		return fitInverse(xs, ls, math.Max(low-math.Max(low, 1e-6)*math.Pow(10, -4*(1-u)), 0))
	}
	var s SingleFit
	var errs []float64
	best, bestRSS := 0., math.Inf(1)
	for i := range limitCells {
		u := float64(i) / (limitCells - 1)
		p, rss := solve(u)
		if !finite(rss) {
			continue
		}
		s.Cells, errs = append(s.Cells, SingleCell{Parameters: p}), append(errs, rss)
		if rss < bestRSS {
			best, s.Parameters, bestRSS = u, p, rss
		}
	}
	for step := .5 / limitCells; step > 1e-9; step /= 2 {
		for _, u := range []float64{best + step, best - step} {
			if p, rss := solve(min(max(u, 0), 1)); rss < bestRSS {
				best, s.Parameters, bestRSS = u, p, rss
			}
		}
	}
	for i := range s.Cells {
		s.Cells[i].Weight = math.Pow((errs[i]+before)/(bestRSS+before), -(n+1)/2)
	}
	s.Cells = slices.DeleteFunc(s.Cells, func(c SingleCell) bool { return c.Weight < negligible })
	slices.SortStableFunc(s.Cells, func(a, b SingleCell) int { return cmp.Compare(b.Weight, a.Weight) })
	return &s
}

// fitInverse fits a curve of a given limit, for which 1/(l−limit) is linear in
// x. The weights (l−limit)² undo, to first order, what the inverse does to the
// errors. It returns the parameters and the squared error in l.
func fitInverse(xs, ls []float64, limit float64) ([]float64, float64) {
	top := slices.Max(xs)          // scales the columns alike
	var aa, ax, xx, ab, xb float64 // of the normal equations
	for i, l := range ls {
		gap := math.Max(l-limit, 1e-9)
		one, x := gap*gap, gap*gap*xs[i]/top
		aa, ax, xx, ab, xb = aa+one*one, ax+one*x, xx+x*x, ab+one*gap, xb+x*gap
	}
	beta := [2]float64{ab / aa, 0}
	if det := aa*xx - ax*ax; det > 0 {
		beta = [2]float64{(xx*ab - ax*xb) / det, (aa*xb - ax*ab) / det}
	}
	switch { // of two coefficients, at most one is negative where the other alone fits best
	case beta[1] < 0:
		beta = [2]float64{ab / aa, 0}
	case beta[0] < 0:
		beta = [2]float64{0, xb / xx}
	}
	c := OptimusCurve{beta[1] / top, beta[0], limit}
	var rss float64
	for i := range xs {
		r := c.At(xs[i]) - ls[i]
		rss += r * r
	}
	return []float64{c.Beta0, c.Beta1, c.Beta2}, rss
}

// optimusOf returns the curve with the given parameters, which may come from a
// file; ok is false if they are not three.
func optimusOf(p []float64) (c OptimusCurve, ok bool) {
	if len(p) != 3 {
		return c, false
	}
	return OptimusCurve{p[0], p[1], p[2]}, true
}

// singlePaths returns the alternatives to the single curve.
func (c *Curve) singlePaths() []path {
	var ps []path
	for _, cell := range c.Single.Cells {
		if form, ok := optimusOf(cell.Parameters); ok {
			ps = append(ps, path{weight: cell.Weight, at: form.At})
		}
	}
	return ps
}

// singleStepsTo answers from the single curve. Where its best fit gets there
// the chance is 1: a single curve has no second opinion.
func (c *Curve) singleStepsTo(t float64) (data.Estimate, float64) {
	best, _ := optimusOf(c.Single.Parameters)
	x, ok := best.StepsTo(t)
	if !ok || !finite(x) {
		return data.Estimate{}, 0
	}
	e := data.Estimate{Mean: math.Max(x, c.LastX)}
	e.Lo, e.Hi = e.Mean, e.Mean
	var steps, weights []float64
	for _, cell := range c.Single.Cells {
		if form, ok := optimusOf(cell.Parameters); ok {
			if x, ok := form.StepsTo(t); ok && finite(x) {
				steps, weights = append(steps, math.Max(x, c.LastX)), append(weights, cell.Weight)
			}
		}
	}
	if q := quantile.Weighted(steps, weights, .05); finite(q) {
		e.Lo, e.Hi = math.Min(e.Mean, q), math.Max(e.Mean, quantile.Weighted(steps, weights, .95))
	}
	return e, 1
}

// checkFamily refuses names of no family.
func checkFamily(name string) error {
	if name == "" || name == Auto || name == Optimus {
		return nil
	}
	return &data.InputError{Source: data.Source{Column: "convergence family"}, Found: fmt.Sprintf("%q", name), Want: Auto + " or " + Optimus}
}
