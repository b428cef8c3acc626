package convergence

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

// arrival is when a target is met: a grid of moments after the record at which
// the curve is looked at, and the chance of each that the target is first met
// there, given that it is met at all.
//
// As far out as single looks still matter the grid holds every one of them;
// further out a cell stands for several.
type arrival struct {
	x      []float64 // when the last look of a cell happens, steps
	looks  []float64 // looks in the cell
	mass   []float64
	step   float64   // steps between looks
	last   float64   // steps recorded
	chance float64   // that the target is met at all
	curves float64   // the same if the course does not break
	given  []float64 // weights of the posterior's cells, given that it is met
}

// arrive foresees when a target that lies below the record is met.
//
// Each curve says when, given the noise; the horizon, which does not look at
// the curve, serves as prior. Curves are alike at all scales of time, so that
// the prior of when they arrive is 1/x, by which the horizon is divided.
//
// The learning rate may be cut before that, by which the loss drops to a part
// of itself, any part as likely as another. When that happens is what the
// horizon says of any event ahead. A cut that is not enough leaves the horizon
// alone, by which half of the targets are met.
func (c *Curve) arrive(target float64, reach Reach) (*posterior, *arrival) {
	p := c.posterior(target)
	density, end := c.horizon(target)
	a := newArrival(c, reach, end)
	ahead := make([]float64, len(a.x)) // chance of a cut in each cell of the grid, and after it
	after := make([]float64, len(a.x))
	var all float64
	for j, x := range a.x {
		ahead[j] = density(x) * a.looks[j]
		all += ahead[j]
	}
	rest := 1.
	for j := range ahead {
		ahead[j] /= all
		rest -= ahead[j]
		after[j] = max(rest, 0)
	}
	scatter := 0.
	if reach == First {
		scatter = c.Scatter
	}
	curves := newTable(p, a.x)
	chance := c.cutChance()
	hits := make([]float64, len(a.x))
	cut, late := make([]float64, len(a.x)), make([]float64, len(a.x))
	var met, uncut, total, sum float64
	a.given = make([]float64, len(p.cells))
	for i, cell := range p.cells {
		total += cell.weight
		f := func(j int) float64 { return curves.at(cell, j) }
		var hit float64
		clear(hits)
		// Noise would get a curve that levels off above the target there by
		// luck, some day; that is not what is asked.
		if len(c.Templates) > 0 || p.end(cell) < target {
			visit := func(j int, chance float64) { hits[j] = chance }
			if reach == First {
				noise := func(j int) float64 { return math.Hypot(curves.noise(cell, j), scatter) }
				hit = a.firstHits(f, noise, target, visit)
			} else {
				hit = a.crossings(f, p.at(cell, c.LastX), cell.lasting, target, visit)
			}
			if len(c.Templates) == 0 {
				hit = 1 // also beyond the grid
			}
		}
		met += cell.weight * hit
		uncut += cell.weight * (1 - chance) * hit
		left := 1.
		for j, h := range hits {
			w := cell.weight * h * (1 - chance + chance*after[j])
			a.mass[j] += w * density(a.x[j]) * a.x[j]
			a.given[i] += w * density(a.x[j]) * a.x[j]
			uncut += cell.weight * h * chance * after[j]
			w = cell.weight * chance * ahead[j] * left
			enough := 1.
			if l := f(j); l > target {
				enough = max(target, 0) / l
			}
			cut[j] += w * enough
			late[j] += w * (1 - enough) / 2
			left -= h
		}
		sum += a.given[i]
	}
	if sum > 0 && !diverges(c.Recorded) {
		a.curves = met / total
	} else {
		uncut, sum = 0, 1
		clear(a.mass)
	}
	waiting := 0. // of the cuts that were not enough, per chance of what the horizon says is ahead
	for j := range a.mass {
		cut[j] += waiting * ahead[j]
		if after[j] > 0 {
			waiting += late[j] / after[j]
		}
		a.mass[j] = a.mass[j]*uncut/sum + cut[j]
		a.chance += a.mass[j] / total
	}
	if !(a.chance > 0) || math.IsInf(a.chance, 0) { // no curve agrees with the record
		copy(a.mass, ahead)
		a.chance = chance / 2
		return p, a
	}
	floats.Scale(1/(a.chance*total), a.mass)
	return p, a
}

// cutChance is the chance that the learning rate is cut ahead, and nobody told
// of it. After a cut that nobody told of either, another is as likely as not.
func (c *Curve) cutChance() float64 {
	switch {
	case len(c.Templates) > 0, c.Planned > 0 && c.Planned <= c.LastX:
		return 0
	case len(c.Milestones) == 0 && len(c.Cuts()) > 0:
		return max(c.beliefs().Break, .5)
	}
	return c.beliefs().Break
}

// newArrival returns the grid for looks after the record, to end.
func newArrival(c *Curve, reach Reach, end float64) *arrival {
	a := &arrival{last: c.LastX, step: c.LastX / float64(len(c.Recorded))}
	if reach == First {
		a.step = c.LastX / float64(c.Points)
	}
	for x := c.LastX; x < end; {
		// A fiftieth of x is well under the width of any interval worth giving.
		n := math.Max(1, math.Floor(x/a.step/50))
		x += n * a.step
		a.x, a.looks = append(a.x, x), append(a.looks, n)
	}
	a.mass = make([]float64, len(a.x))
	return a
}

// horizon returns the density of when a target is met, without looking at the
// curve, and how far ahead it is worth looking.
//
// Who asks does so at some moment on the way: if any is as likely as another,
// the whole way is longer than z times what is recorded with probability 1/z
// (Gott, Nature 1993). A planned end says more: people plan a run so that it
// gets where they want it, neither at once nor at the very last moment, which
// is the parabola 6u(1−u), u from 0 now to 1 at the end; some plans are wrong.
// Finished runs say when they got there themselves.
func (c *Curve) horizon(target float64) (density func(x float64) float64, end float64) {
	anywhere := func(x float64) float64 { return c.LastX / (x * x) }
	left := c.Planned - c.LastX
	switch {
	case len(c.Templates) > 0:
		median, sd := c.templateHits(target)
		end = math.Max(c.LastX, c.Planned)
		for _, t := range c.Templates {
			end = math.Max(end, t.Recorded[len(t.Recorded)-1].X)
		}
		return func(x float64) float64 {
			z := math.Log(x/median) / sd
			return math.Exp(-z*z/2) / x
		}, 4 * end
	case left > 0:
		wrong := c.beliefs().WrongPlan
		return func(x float64) float64 {
			d := wrong * anywhere(x)
			if u := (x - c.LastX) / left; 0 < u && u < 1 {
				d += (1 - wrong) * 6 * u * (1 - u) / left
			}
			return d
		}, 4 * c.Planned
	}
	return anywhere, 1000 * c.LastX
}

// table holds the shapes of a posterior at all cells of a grid.
type table struct {
	p      *posterior
	x      []float64
	ratios []float64
	values [][]float64
}

func newTable(p *posterior, xs []float64) table {
	t := table{p, xs, make([]float64, len(xs)), make([][]float64, len(p.shapes))}
	for j, x := range xs {
		t.ratios[j] = p.ratioAt(x)
	}
	for _, c := range p.cells {
		if t.values[c.shape] != nil {
			continue
		}
		v := make([]float64, len(xs))
		for j, x := range xs {
			v[j] = p.shapes[c.shape].at(x - p.start)
		}
		t.values[c.shape] = v
	}
	return t
}

func (t table) at(c cell, j int) float64 {
	return (c.limit + c.amplitude*t.values[c.shape][j]) * t.ratios[j]
}

// noise returns the sd of looks around the curve of a cell.
func (t table) noise(c cell, j int) float64 {
	if g, ok := t.p.shapes[c.shape].(laid); ok { // a finished run shows it
		return c.amplitude * g.noiseAt(t.x[j])
	}
	return c.fresh
}

// firstHits visits the cells of the grid in which a curve with noise around it
// may first hit the target, with the chance of each, and returns their sum: a
// look hits with probability Φ((target − f)/noise).
func (a *arrival) firstHits(f, noise func(j int) float64, target float64, visit func(j int, chance float64)) float64 {
	const far = 6 // deviations that noise never reaches
	left := 1.0
	for j := range a.x {
		z := (target - f(j)) / math.Max(noise(j), 1e-12)
		if z < -far {
			continue
		}
		hit := left
		if z < far {
			miss := math.Erfc(z/math.Sqrt2) / 2
			if a.looks[j] > 1 {
				miss = math.Pow(miss, a.looks[j])
			}
			hit = left * (1 - miss)
		}
		visit(j, hit)
		if left -= hit; left < negligible {
			return 1
		}
	}
	return 1 - left
}

// crossings is the same for where the smooth course gets to the target, which
// lies around the curve by an error that lasts; now is the curve where the
// record ends, by when the target was not met.
func (a *arrival) crossings(f func(j int) float64, now, lasting, target float64, visit func(j int, chance float64)) float64 {
	met := func(f float64) float64 {
		return math.Erfc((f-target)/math.Max(lasting, 1e-12)/math.Sqrt2) / 2
	}
	before := met(now)
	if before > 1-negligible {
		visit(0, 1)
		return 1
	}
	first := before
	for j := range a.x {
		if p := met(f(j)); p > before {
			visit(j, (p-before)/(1-first))
			before = p
		}
	}
	return (before - first) / (1 - first)
}

// quantile returns the look by which the target is met with probability p.
func (a *arrival) quantile(p float64) float64 {
	sum := 0.0
	for j, m := range a.mass {
		if sum+m >= p && m > 0 {
			// Within a cell of several looks the hit is spread evenly.
			return a.x[j] - (a.looks[j]-1)*a.step*(1-(p-sum)/m)
		}
		sum += m
	}
	return a.x[len(a.x)-1]
}

// estimate returns the median with its 90 % interval. The interval is half a
// look wider on either side: looks to come are not at exactly these steps.
func (a *arrival) estimate() data.Estimate {
	return data.Estimate{Mean: a.quantile(.5),
		Lo: math.Max(a.quantile(.05)-a.step/2, a.last), Hi: a.quantile(.95) + a.step/2}
}
