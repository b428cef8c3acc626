package convergence

import (
	"math"

	"knee/data"
	"knee/internal/quantile"
)

// Course is where a training curve is believed to run: many curves that
// agree with the record, each with its weight.
type Course struct {
	From  float64 // steps before which it says nothing: where the last learning-rate cut lies
	c     *Curve
	paths []path
}

// path is one way for a curve to go, in the terms of [Curve].
type path struct {
	weight, noise float64
	at            func(x float64) float64
}

// Course returns the course of the curve. For a target (a loss, or a metric if
// that is what was fitted) that lies ahead of the record it is the course on
// condition that the target is met, as in the answer of [Curve.Target] but for
// the chance that the course breaks. If there is none (nil), or it lies in the
// record, it is the posterior over curves alone, without the horizon.
func (c *Curve) Course(target *float64, reach Reach) *Course {
	k := &Course{c: c}
	if c.Single != nil {
		k.paths = c.singlePaths()
		return k
	}
	if reach == "" {
		reach = c.Reach
	}
	p, weights := (*posterior)(nil), []float64(nil)
	if target != nil {
		if t := c.toLoss(*target); finite(t) && t < c.lowest(reach) {
			var a *arrival
			if p, a = c.arrive(t, reach); a.curves >= unlikely {
				weights = a.given
			}
		}
	}
	if weights == nil {
		p = c.posterior(c.lowest(reach)) // limits below the record, as nothing else is asked for
		for _, cell := range p.cells {
			weights = append(weights, cell.weight)
		}
	}
	k.From = p.start
	for i, cell := range p.cells {
		k.paths = append(k.paths, path{weights[i], math.Hypot(math.Hypot(cell.fresh, cell.lasting), c.Scatter),
			func(x float64) float64 { return p.at(cell, x) }})
	}
	return k
}

// Band returns the loss (or metric) after x steps: the median of the curves
// that make up the course, with the 90 % interval of a value recorded there,
// which holds the spread of the curves and the noise around them. A single
// published curve has its own line, and the spread of its alternatives alone.
func (k *Course) Band(x float64) data.Estimate {
	var ls, ws []float64
	var noise, total float64
	for _, p := range k.paths {
		ls, ws = append(ls, k.c.fromLoss(p.at(x))), append(ws, p.weight)
		noise += p.weight * p.noise * k.c.Scale
		total += p.weight
	}
	e := data.Estimate{Mean: quantile.Weighted(ls, ws, .5), Lo: quantile.Weighted(ls, ws, .05), Hi: quantile.Weighted(ls, ws, .95)}
	if math.IsNaN(e.Mean) { // no curve agrees with the record: all that is known is its last level
		last := k.c.fromLoss(k.c.Recorded[len(k.c.Recorded)-1].Loss)
		e = data.Estimate{Mean: last, Lo: last, Hi: last}
	}
	if k.c.Single != nil {
		best, _ := optimusOf(k.c.Single.Parameters)
		e.Mean = k.c.fromLoss(best.At(x))
		return data.Estimate{Mean: e.Mean, Lo: math.Min(e.Lo, e.Mean), Hi: math.Max(e.Hi, e.Mean)}
	}
	if total > 0 { // independent spreads add up in squares
		const z95 = 1.6449
		noise *= z95 / total
		e.Lo, e.Hi = e.Mean-math.Hypot(e.Mean-e.Lo, noise), e.Mean+math.Hypot(e.Hi-e.Mean, noise)
	}
	return e
}
