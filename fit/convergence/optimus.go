package convergence

import (
	"math"
	"slices"

	"knee/data"
)

// OptimusCurve is l = 1/(β0·x + β1) + β2, the convergence of first-order
// methods (Peng et al., Optimus, EuroSys'18, section 3.1). All parameters are ≥
// 0.
type OptimusCurve struct {
	Beta0, Beta1 float64 // per step; dimensionless
	Beta2        float64 // loss at infinity
}

// At returns the loss after x ≥ 0 steps.
func (c OptimusCurve) At(x float64) float64 {
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

// optimus fits the curve to the record. The limit is searched on a grid from
// zero to the lowest loss, denser towards the latter, then by halving steps;
// the other parameters are solved for.
func (c *Curve) optimus() OptimusCurve {
	const nodes = 60
	low := slices.Min(losses(c.Recorded))
	var best OptimusCurve
	at, least := 0., math.Inf(1)
	try := func(u float64) {
		u = min(max(u, 0), 1)
		f, rss := c.optimusAt(math.Max(low-math.Max(low, 1e-6)*math.Pow(10, -4*(1-u)), 0))
		if rss < least {
			best, at, least = f, u, rss
		}
	}
	for i := range nodes {
		try(float64(i) / (nodes - 1))
	}
	for step := .5 / nodes; step > 1e-9; step /= 2 {
		for _, u := range []float64{at + step, at - step} {
			try(u)
		}
	}
	return best
}

// optimusAt fits a curve of a given limit, for which 1/(l−limit) is linear in
// x. The weights (l−limit)² undo, to first order, the effect of the inverse on
// the errors. It returns the curve and the squared error in l.
func (c *Curve) optimusAt(limit float64) (OptimusCurve, float64) {
	var aa, ax, xx, ab, xb float64 // normal equations
	for _, p := range c.Recorded {
		gap := math.Max(p.Loss-limit, 1e-9)
		one, x := gap*gap, gap*gap*p.X/c.LastX
		aa, ax, xx, ab, xb = aa+one*one, ax+one*x, xx+x*x, ab+one*gap, xb+x*gap
	}
	beta := [2]float64{ab / aa, 0}
	if det := aa*xx - ax*ax; det > 0 {
		beta = [2]float64{(xx*ab - ax*xb) / det, (aa*xb - ax*ab) / det}
	}
	switch { // at most one coefficient is negative; the fit of the other without it is then best
	case beta[1] < 0:
		beta = [2]float64{ab / aa, 0}
	case beta[0] < 0:
		beta = [2]float64{0, xb / xx}
	}
	f := OptimusCurve{beta[1] / c.LastX, beta[0], limit}
	var rss float64
	for _, p := range c.Recorded {
		r := f.At(p.X) - p.Loss
		rss += r * r
	}
	return f, rss
}

// optimusStepsTo returns the steps of the best fit, in the interval of the
// posterior, and the probability of reaching t: 1 if the best fit does, else 0.
func (c *Curve) optimusStepsTo(t float64) (data.Estimate, float64) {
	x, ok := c.optimus().StepsTo(t)
	if !ok || !finite(x) {
		return data.Estimate{}, 0
	}
	_, a := c.arrive(t, math.Inf(1))
	e, mean := a.estimate(), math.Max(x, c.LastX)
	return data.Estimate{Mean: mean, Lo: math.Min(mean, e.Lo), Hi: math.Max(mean, e.Hi)}, 1
}
