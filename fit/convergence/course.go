package convergence

import (
	"math"

	"knee/data"
	"knee/internal/quantile"
)

// Course is where a training curve is believed to run: many curves that
// agree with the record, each with its weight.
type Course struct {
	From  float64 // steps before which it says nothing: where the last learning-rate drop lies
	c     *Curve
	best  CurveForm // the single curve asked for, nil if there is none
	paths []path
}

// path is one way for a curve to go, in the terms of [Curve].
type path struct {
	weight float64
	at     func(x float64) (loss, noise float64)
	cell   func(j int) (loss, noise float64) // at on the grid of first hits
	limit  float64                           // what it levels off at
	above  bool                              // one of the alternatives that level off above the target
}

// Course returns the course of the curve.
//
// For a target (a loss, or a metric if that is what was fitted) that is
// foreseen it is the course behind the answer of [Curve.Target], on
// condition that the target is reached: curves weigh as much as it takes for
// their first hits to be spread as the pooled ones are, which is Jeffrey's
// rule of conditioning (The Logic of Decision, 1965, chapter 11). If the
// target is not reached, or there is none (nil), or it lies in the record, it
// is the posterior over curves alone, without the horizon.
func (c *Curve) Course(target *float64) *Course {
	course := &Course{c: c}
	if course.best = c.single(); course.best != nil {
		course.paths = c.singlePaths()
		return course
	}
	seg := c.lastSegment()
	if len(c.Templates) == 0 {
		course.From = seg.start
	}
	if target != nil {
		if t := c.toLoss(*target); finite(t) && t < c.low() {
			o := c.outlookOf(t)
			course.paths = o.paths
			if o.chance >= .5 {
				course.paths = o.conditioned(t)
			}
			return course
		}
	}
	if len(c.Templates) > 0 {
		course.paths, _ = c.templatePaths(nil)
	} else {
		// Limits below the lowest loss seen, as nothing else is asked for.
		course.paths = seg.paths(seg.low, c.shapes(seg), nil)
	}
	return course
}

// Band returns the loss (or metric) after x steps: the median of the curves
// that make up the course, or the single curve asked for, with the 90 %
// interval of a loss recorded there. It holds the spread of the curves and,
// but for single curves, the noise around them: a target is met by the first
// loss at or under it, which with noise comes before the smooth curve does.
func (k *Course) Band(x float64) data.Estimate {
	ls, ws := make([]float64, len(k.paths)), make([]float64, len(k.paths))
	var noise, total float64
	for i, p := range k.paths {
		l, sd := p.at(x)
		ls[i], ws[i] = k.c.fromLoss(l), p.weight
		noise += p.weight * sd * k.c.Scale
		total += p.weight
	}
	q := func(p float64) float64 { return quantile.Weighted(ls, ws, p) }
	e := data.Estimate{Mean: q(.5), Lo: q(.05), Hi: q(.95)}
	if math.IsNaN(e.Mean) { // no curve agrees with the record: all that is known is its last level
		last := k.c.fromLoss(k.c.Recorded[len(k.c.Recorded)-1].Loss)
		e = data.Estimate{Mean: last, Lo: last, Hi: last}
	}
	if k.best != nil {
		e.Mean = k.c.fromLoss(k.best.At(x))
		e.Lo, e.Hi = math.Min(e.Lo, e.Mean), math.Max(e.Hi, e.Mean)
		return e
	}
	if total > 0 { // independent spreads add up in squares
		const z95 = 1.6449
		scatter := z95 * noise / total
		e.Lo, e.Hi = e.Mean-math.Hypot(e.Mean-e.Lo, scatter), e.Mean+math.Hypot(e.Hi-e.Mean, scatter)
	}
	return e
}

// LossAt returns the loss (or metric) after x steps; of many, ask a
// [Course], which says how sure it is.
func (c *Curve) LossAt(x float64) float64 { return c.Course(nil).Band(x).Mean }

// singlePaths returns the alternatives to the single curve asked for.
func (c *Curve) singlePaths() []path {
	f, err := familyNamed(c.Family)
	if err != nil {
		return nil
	}
	var ps []path
	for _, cell := range c.Single.Cells {
		if len(cell.Parameters) == len(f.names) {
			form := f.form(cell.Parameters)
			ps = append(ps, path{weight: cell.Weight, at: func(x float64) (float64, float64) { return form.At(x), 0 }})
		}
	}
	return ps
}

// outlook is what is foreseen of a target.
type outlook struct {
	hits   *future   // first hits, pooled
	own    []float64 // the same before pooling
	paths  []path    // the curves behind them
	chance float64   // that the target is reached
}

// outlookOf foresees a target that lies below the record.
func (c *Curve) outlookOf(target float64) *outlook {
	if len(c.Templates) > 0 {
		return c.hitsOf(target)
	}
	return c.reach(target)
}

// addPaths adds up where each path first hits the target, and returns the
// weight of what levels off above it and of what does not hit it on the grid.
func (o *outlook) addPaths(target float64) (above, later float64) {
	for _, p := range o.paths {
		if p.above { // noise would get it there by luck, some day; that is not what is asked
			above += p.weight
			continue
		}
		later += o.hits.addHits(p.cell, target, p.weight)
	}
	return above, later
}

// pool pools the hits with another density; see [future.pool].
func (o *outlook) pool(own float64, density func(x float64) float64, other float64) {
	o.own = append([]float64(nil), o.hits.mass...)
	o.hits.pool(own, func(j int) float64 { return density(o.hits.x[j]) }, other)
}

// conditioned returns the paths with the weights that make their own hits
// those that were pooled.
func (o *outlook) conditioned(target float64) []path {
	var kept []path
	var top float64
	for _, p := range o.paths {
		if p.above {
			continue
		}
		var part float64
		o.hits.eachHit(p.cell, target, func(j int, chance float64) {
			if o.own[j] > 0 {
				part += chance * o.hits.mass[j] / o.own[j]
			}
		})
		if p.weight *= part; p.weight > 0 {
			kept = append(kept, p)
			top = math.Max(top, p.weight)
		}
	}
	some := kept[:0]
	for _, p := range kept {
		if p.weight >= negligible*top {
			some = append(some, p)
		}
	}
	return some
}
