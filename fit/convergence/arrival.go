package convergence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

// arrival is the distribution of the step at which a target is first met, given
// that it is met: probabilities of the cells of a grid. Near the record a cell
// is one look (a point as recorded), further out several.
type arrival struct {
	x      []float64 // last look of each cell, steps
	looks  []float64 // looks in each cell
	mass   []float64
	step   float64   // steps between looks
	from   float64   // begin of the grid: the steps recorded, or 0 if the record may meet the target
	past   float64   // probability that the record met the target
	chance float64   // probability that the target is met
	curves float64   // the same, if no break occurs
	given  []float64 // weights of the posterior's draws, given that the target is met
}

// arrive predicts when a target is met; met is the step at which the smoothed record did,
// +Inf if it did not.
//
// Each curve gives a distribution, given the noise. After the record it is weighted by the
// horizon, divided by the prior that curves imply by themselves (anywhere). With
// probability h.unforeseen a curve says nothing ahead, as before an unannounced cut of the
// learning rate: then only the horizon counts.
func (c *Curve) arrive(target, met float64) (*posterior, *arrival) {
	p, h := c.posterior(), c.horizon(target)
	a := newArrival(c, h.end, finite(met))
	a.given = make([]float64, len(p.draws))
	unforeseen, weights := make([]float64, len(a.x)), make([]float64, len(a.x))
	recorded := 0 // cells
	for j, x := range a.x {
		if weights[j] = 1; x <= c.LastX {
			recorded++
			continue
		}
		unforeseen[j] = h.density(x) * a.looks[j]
		weights[j] = h.density(x) / c.anywhere(x)
	}
	floats.Scale(1/floats.Sum(unforeseen), unforeseen)
	var meet, all, ahead float64
	least := c.least()
	if !slices.ContainsFunc(p.draws, func(d draw) bool { return p.end(d) >= least }) {
		least = math.Inf(-1)
	}
	for i, d := range p.draws {
		if c.Reach == Smooth && !finite(met) && p.at(d, c.LastX)+d.lasting <= target {
			continue // has met it within the record, which did not
		}
		w := 1. // a target that the record may have met says nothing of the limit
		switch {
		case finite(met):
		case p.end(d) < least:
			continue
		case p.end(d) < target:
			w = h.met * c.asked(p, d, target)
		default:
			w = 1 - h.met
		}
		all += w
		if p.end(d) >= target && d.start < met { // only noise could meet it
			continue
		}
		meet += w
		a.hits(c, p, d, target, met, func(j int, chance float64) {
			chance *= w * weights[j]
			a.mass[j] += chance
			if a.given[i] += chance; j >= recorded {
				ahead += chance
			}
		})
	}
	past, future := a.mass[:recorded], a.mass[recorded:]
	if all > 0 {
		a.curves = meet / all
		floats.Scale(1/all, past)
	} else if len(p.draws) > 0 { // every curve has met it within the record
		a.curves, future[0], ahead = 1, 1, 1
		floats.AddConst(1, a.given)
	}
	a.past = floats.Sum(past)
	if ahead > 0 {
		floats.Scale((a.curves-a.past)*(1-h.unforeseen)/ahead, future)
	}
	floats.AddScaled(a.mass, (1-a.past)*h.unforeseen*h.met, unforeseen)
	a.chance = floats.Sum(a.mass)
	floats.Scale(1/a.chance, a.mass)
	return p, a
}

// asked is the prior of a target given the curve, relative to its maximum. The gap from
// target to limit, as a share of the way from the first value to the target, is log-normal,
// as targets are chosen near what training reaches; below the median all gaps count the
// same: a target close to a limit is no sign of a higher one.
func (c *Curve) asked(p *posterior, d draw, target float64) float64 {
	known := c.beliefs()
	z := math.Max(math.Log((target-p.end(d))/math.Max(p.points[0].Loss-target, 1e-9)/known.GapMedian)/known.GapSD, 0)
	return math.Exp(-z * z / 2)
}

// newArrival returns the grid of looks up to end in steps, after the record or,
// with all, from its begin.
func newArrival(c *Curve, end float64, all bool) *arrival {
	a := &arrival{from: c.LastX, step: c.LastX / float64(len(c.Recorded))}
	if c.Reach == First {
		a.step = c.LastX / float64(c.Points)
	}
	if all {
		a.from = 0
	}
	// Cells of a fiftieth of x are far narrower than any interval.
	ratio := math.Max(1./50, math.Log(end/c.LastX)/mostCells)
	for x := a.from; x < end; {
		n := 1.
		if x >= c.LastX {
			n = math.Max(1, math.Floor(x/a.step*ratio))
		}
		x += n * a.step
		a.x, a.looks = append(a.x, x), append(a.looks, n)
	}
	a.mass = make([]float64, len(a.x))
	return a
}

// mostCells approximately bounds the number of cells.
const mostCells = 512

// horizon is the prior of the step at which a target is met.
type horizon struct {
	density    func(x float64) float64 // of the step at which it is met, per steps recorded
	end        float64                 // end of the grid, steps
	unforeseen float64                 // probability that curves say nothing
	met        float64                 // prior probability that the target is met
}

// anywhere is the density, at step x, of an event known only to be after the
// record: the record is a random part of the way, so the way is longer than z
// times the record with probability 1/z (Gott, Nature 1993).
func (c *Curve) anywhere(x float64) float64 {
	z := x / c.LastX
	return 1 / (z * z)
}

// horizon returns the prior of when a target is met: anywhere; with a plan uniform over the
// rest of the run, mixed with anywhere in case the plan is wrong; with finished runs, the
// steps at which those met it.
func (c *Curve) horizon(target float64) horizon {
	known := c.beliefs()
	h := horizon{density: c.anywhere, end: 1000 * c.LastX, unforeseen: known.Break, met: 1. / 2}
	left := c.Planned - c.LastX
	switch {
	case len(c.Templates) > 0:
		var median, sd float64
		median, sd, h.met = c.templateHits(target)
		h.unforeseen = 1. / 2 // even odds: the finished runs may include cuts that the curve does not
		h.end = math.Max(c.LastX, c.Planned)
		for _, t := range c.Templates {
			h.end = math.Max(h.end, t.Recorded[len(t.Recorded)-1].X)
		}
		h.end *= 4
		h.density = func(x float64) float64 {
			z := math.Log(x/median) / sd
			// The second term keeps the density positive far from the median.
			return math.Exp(-z*z/2)*c.LastX/x + 1e-9*c.anywhere(x)
		}
	case left > 0:
		h.end = 4 * c.Planned
		h.density = func(x float64) float64 {
			d := known.WrongPlan * c.anywhere(x)
			if x < c.Planned {
				d += (1 - known.WrongPlan) * c.LastX / left
			}
			return d
		}
	}
	return h
}

// hits visits the cells in which a curve may first meet the target, with their probability.
// Before its start, after a cut, the smoothed record says whether it was met.
func (a *arrival) hits(c *Curve, p *posterior, d draw, target, met float64, visit func(j int, chance float64)) {
	noise := math.Max(math.Hypot(d.fresh, c.Scatter), math.SmallestNonzeroFloat64)
	left := 1.
	for j, x := range a.x {
		if c.Reach == Smooth {
			if x >= met && x <= d.start || x > d.start && p.at(d, x)+d.lasting <= target {
				visit(j, 1)
				return
			}
			continue
		}
		// A look meets the target with probability Φ((target − f)/noise).
		z := (target - p.at(d, x)) / noise
		if z < -6 {
			continue // no noise is that large
		}
		hit := left * (1 - math.Pow(math.Erfc(z/math.Sqrt2)/2, a.looks[j]))
		visit(j, hit)
		if left -= hit; left < 1e-4 {
			return
		}
	}
}

// quantile returns the step by which the target is met with probability p.
func (a *arrival) quantile(p float64) float64 {
	sum := 0.0
	for j, m := range a.mass {
		if sum+m >= p && m > 0 {
			// Hits are uniform over the looks of a cell.
			return a.x[j] - (a.looks[j]-1)*a.step*(1-(p-sum)/m)
		}
		sum += m
	}
	return a.x[len(a.x)-1]
}

// estimate returns the median with its 90 % interval in steps. The interval is
// half a look wider on either side, as future looks may be at other steps.
func (a *arrival) estimate() data.Estimate {
	return data.Estimate{Mean: a.quantile(.5),
		Lo: math.Max(a.quantile(.05)-a.step/2, a.from), Hi: a.quantile(.95) + a.step/2}
}
