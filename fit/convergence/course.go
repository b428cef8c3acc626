package convergence

import (
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Course is the posterior of a training curve: weighted curves that agree with the record.
type Course struct {
	From    float64 // first step that most curves cover: the first recorded, or the first after a learning-rate cut, known or inferred
	Cut     bool    // From is after an inferred cut
	c       *Curve
	p       *posterior
	weights []float64
	best    *OptimusCurve // set if a published curve was asked for
}

// Course returns the course of the curve. For a target (a loss, or a metric if fitted) not
// reached in the record, curves are weighted by the probability that they meet it, as in
// [Curve.Target] without breaks; else they count the same.
func (c *Curve) Course(target *float64) *Course {
	k := &Course{c: c}
	if c.Family == Optimus {
		best := c.optimus()
		k.best, target = &best, nil
	}
	if target != nil {
		if t := c.toLoss(*target); finite(t) && t < c.lowest() {
			if p, a := c.arrive(t, math.Inf(1)); a.curves >= unlikely {
				k.p, k.weights = p, a.given
			}
		}
	}
	if k.p == nil {
		k.p = c.posterior()
		k.weights = slices.Repeat([]float64{1}, len(k.p.draws))
	}
	var starts []float64
	for _, d := range k.p.draws {
		starts = append(starts, d.start)
	}
	if k.From = k.p.points[0].X; len(starts) > 0 {
		middle := quantile.Weighted(starts, k.weights, .5)
		k.Cut, k.From = middle > k.From, math.Max(k.From, middle)
	}
	return k
}

// Band returns the loss (or metric) after x steps: the median of the curves that begin
// before, of [Optimus] its best fit, with the 90 % interval of a value recorded there,
// noise included.
func (k *Course) Band(x float64) data.Estimate {
	var ls, noisy, ws []float64
	rng := rand.New(rand.NewPCG(1, 0))
	for i, d := range k.p.draws {
		if d.start > x { // it describes the record after a cut
			continue
		}
		l := k.p.at(d, x)
		noise := math.Hypot(d.fresh, k.c.Scatter) * rng.NormFloat64()
		ls, noisy = append(ls, k.c.fromLoss(l)), append(noisy, k.c.fromLoss(l+d.lasting+noise))
		ws = append(ws, k.weights[i])
	}
	e := data.Estimate{Mean: quantile.Weighted(ls, ws, .5), Lo: quantile.Weighted(noisy, ws, .05), Hi: quantile.Weighted(noisy, ws, .95)}
	if math.IsNaN(e.Mean) { // no draws: the last recorded level
		last := k.c.fromLoss(k.c.Recorded[len(k.c.Recorded)-1].Loss)
		e = data.Estimate{Mean: last, Lo: last, Hi: last}
	}
	if k.best != nil {
		e.Mean = k.c.fromLoss(k.best.At(x))
	}
	return data.Estimate{Mean: e.Mean, Lo: math.Min(e.Lo, e.Mean), Hi: math.Max(e.Hi, e.Mean)}
}
