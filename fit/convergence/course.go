package convergence

import (
	"math"
	"math/rand/v2"

	"knee/data"
	"knee/internal/quantile"
)

// Course is the posterior of a training curve: weighted curves that agree with
// the record.
type Course struct {
	From    float64 // first step covered: the first recorded, or the first after the last known learning-rate cut
	c       *Curve
	p       *posterior
	weights []float64
	best    *OptimusCurve // set if a published curve was asked for
}

// Course returns the course of the curve. For a target (a loss, or a metric if
// that was fitted) not reached in the record, curves are weighted by the
// probability that they meet it, as in [Curve.Target] without breaks.
// Otherwise, or if target is nil, it is the posterior of the curves.
func (c *Curve) Course(target *float64) *Course {
	k := &Course{c: c}
	if c.Family == Optimus {
		best := c.optimus()
		k.best, target = &best, nil
	}
	if target != nil {
		if t := c.toLoss(*target); finite(t) && t < c.lowest() {
			if p, a := c.arrive(t); a.curves >= unlikely {
				k.p, k.weights = p, a.given
			}
		}
	}
	if k.p == nil {
		k.p = c.posterior()
		for range k.p.draws {
			k.weights = append(k.weights, 1)
		}
	}
	k.From = k.p.points[0].X
	return k
}

// Band returns the loss (or metric) after x steps: the median of the curves,
// with the 90 % interval of a value recorded there, which includes their noise.
// For [Optimus] Mean is its best fit.
func (k *Course) Band(x float64) data.Estimate {
	var ls, noisy []float64
	rng := rand.New(rand.NewPCG(1, 0))
	for _, d := range k.p.draws {
		l := k.p.at(d, x)
		noise := math.Hypot(d.fresh, k.c.Scatter) * rng.NormFloat64()
		ls, noisy = append(ls, k.c.fromLoss(l)), append(noisy, k.c.fromLoss(l+d.lasting+noise))
	}
	e := data.Estimate{Mean: quantile.Weighted(ls, k.weights, .5), Lo: quantile.Weighted(noisy, k.weights, .05), Hi: quantile.Weighted(noisy, k.weights, .95)}
	if k.best != nil {
		e.Mean = k.c.fromLoss(k.best.At(x))
	}
	if math.IsNaN(e.Mean) { // no draws: the last recorded level
		last := k.c.fromLoss(k.c.Recorded[len(k.c.Recorded)-1].Loss)
		return data.Estimate{Mean: last, Lo: last, Hi: last}
	}
	return data.Estimate{Mean: e.Mean, Lo: math.Min(e.Lo, e.Mean), Hi: math.Max(e.Hi, e.Mean)}
}
