package convergence

import (
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

// optimusShapes is the grid of curves behind the interval of Optimus's family.
func optimusShapes(points int, seen float64) []shape {
	var out []shape
	for _, scale := range geometric(1/float64(4*points), 32, scaleNodes*bendNodes) {
		out = append(out, shape{true, scale * seen, 1})
	}
	return out
}

// optimus fits the curve to the record by least squares: β0 over β1 on a grid
// and then by halving steps, the others solved for.
func (c *Curve) optimus() OptimusCurve {
	const low, high, nodes = -16., 16., 64 // of ln(β1/β0), relative to the record
	var best OptimusCurve
	at, least := 0., math.Inf(1)
	try := func(u float64) {
		if f, rss := c.optimusAt(c.LastX * math.Exp(u)); rss < least {
			best, at, least = f, u, rss
		}
	}
	for i := range nodes {
		try(low + (high-low)*float64(i)/(nodes-1))
	}
	for step := (high - low) / nodes; step > 1e-9; step /= 2 {
		for _, u := range []float64{at - step, at + step} {
			try(u)
		}
	}
	return best
}

// optimusAt returns the best curve of a given β1/β0, in steps, and its sum of
// squared errors.
func (c *Curve) optimusAt(scale float64) (OptimusCurve, float64) {
	g := shape{true, scale, 1}
	var gg, gs, gy, s, y float64 // of the normal equations
	for _, p := range c.Recorded {
		v := g.at(p.X)
		gg, gs, gy, s, y = gg+v*v, gs+v, gy+v*p.Loss, s+1, y+p.Loss
	}
	a, limit := 0., y/s
	if det := gg*s - gs*gs; det > 0 {
		a, limit = (gy*s-gs*y)/det, (gg*y-gs*gy)/det
	}
	switch { // of two coefficients, at most one is negative where the other alone fits best
	case limit < 0:
		a, limit = gy/gg, 0
	case a < 0:
		a, limit = 0, y/s
	}
	a = math.Max(a, 1e-12)
	f := OptimusCurve{1 / (a * scale), 1 / a, limit}
	var rss float64
	for _, p := range c.Recorded {
		rss += (f.At(p.X) - p.Loss) * (f.At(p.X) - p.Loss)
	}
	return f, rss
}

// optimusStepsTo answers from the best fit, with the interval of the curves of
// its form that agree with the record as well. Where the best fit gets there the
// chance is 1: a single curve has no second opinion.
func (c *Curve) optimusStepsTo(t float64) (data.Estimate, float64) {
	x, ok := c.optimus().StepsTo(t)
	if !ok || !finite(x) {
		return data.Estimate{}, 0
	}
	mean := math.Max(x, c.LastX)
	steps := []float64{mean}
	for _, d := range c.posterior().draws {
		f := OptimusCurve{1 / (d.amplitude * d.shape.scale), 1 / d.amplitude, d.limit}
		if x, ok := f.StepsTo(t); ok && finite(x) && d.amplitude > 0 {
			steps = append(steps, math.Max(x, c.LastX))
		}
	}
	slices.Sort(steps)
	return data.Estimate{Mean: mean, Lo: math.Min(mean, quantile.Sorted(steps, .05)), Hi: math.Max(mean, quantile.Sorted(steps, .95))}, 1
}

// checkFamily refuses names of no family.
func checkFamily(name string) error {
	if name == "" || name == Auto || name == Optimus {
		return nil
	}
	return &data.InputError{Source: data.Source{Column: "convergence family"}, Found: fmt.Sprintf("%q", name), Want: Auto + " or " + Optimus}
}
