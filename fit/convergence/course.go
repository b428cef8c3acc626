package convergence

import (
	"math"
	"math/rand/v2"

	"knee/data"
	"knee/internal/quantile"
)

// Course is the posterior of a training curve: many curves that agree with the
// record, each with its weight.
type Course struct {
	From    float64 // steps before which it says nothing: the first recorded, or the first after the last known learning-rate cut
	c       *Curve
	p       *posterior
	weights []float64
	best    *OptimusCurve // set if a published curve was asked for
}

// Course returns the course of the curve. For a target (a loss, or a metric if
// that is what was fitted) that lies ahead of the record it is the course on
// condition that the target is met, as in the answer of [Curve.Target] but for
// what curves do not foresee. If there is none (nil), or it lies in the record,
// it is the posterior over curves alone.
func (c *Curve) Course(target *float64, reach Reach) *Course {
	k := &Course{c: c}
	if reach == "" {
		reach = c.Reach
	}
	if c.Family == Optimus {
		best := c.optimus()
		k.best, target = &best, nil
	}
	if target != nil {
		if t := c.toLoss(*target); finite(t) && t < c.lowest(reach) {
			if p, a := c.arrive(t, reach); a.curves >= unlikely {
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

// Band returns the loss (or metric) after x steps: the median of the curves
// that make up the course, with the 90 % interval of a value recorded there,
// which holds the spread of the curves and the noise around them. Optimus's
// curve has its own line.
func (k *Course) Band(x float64) data.Estimate {
	var ls, noisy, ws []float64
	rng := rand.New(rand.NewPCG(1, 0))
	for i, d := range k.p.draws {
		l := k.p.at(d, x)
		noise := math.Hypot(d.fresh, k.c.Scatter) * rng.NormFloat64()
		ls, noisy = append(ls, k.c.fromLoss(l)), append(noisy, k.c.fromLoss(l+d.lasting+noise))
		ws = append(ws, k.weights[i])
	}
	e := data.Estimate{Mean: quantile.Weighted(ls, ws, .5), Lo: quantile.Weighted(noisy, ws, .05), Hi: quantile.Weighted(noisy, ws, .95)}
	if k.best != nil {
		e.Mean = k.c.fromLoss(k.best.At(x))
	}
	if math.IsNaN(e.Mean) { // no curve agrees with the record: all that is known is its last level
		last := k.c.fromLoss(k.c.Recorded[len(k.c.Recorded)-1].Loss)
		return data.Estimate{Mean: last, Lo: last, Hi: last}
	}
	return data.Estimate{Mean: e.Mean, Lo: math.Min(e.Lo, e.Mean), Hi: math.Max(e.Hi, e.Mean)}
}
