package convergence

import (
	"cmp"

	"math"
	"slices"
)

// posterior is what a record says about the curve that it is the beginning of.
//
// A curve is f(x) = c + a·g(x) for each shape g of a grid and each limit c of
// another. What is recorded lies around it with errors that follow an
// autoregression of order one, e_i = ρ·e_(i−1) + fresh noise, ρ from a grid:
// white noise has ρ = 0, and a shape that is not quite the curve's leaves
// errors of one sign for long, ρ near 1, which makes many points say as little
// as a few. Cells are weighed by their likelihood with the noise's variance
// integrated out under an inverse gamma prior (Zellner, An Introduction to
// Bayesian Inference in Econometrics, 1971, section 4.1).
//
// A single best fit would be no basis for an answer: early in a run, curves
// that end far apart fit equally well, and the best of them is mostly chance.
type posterior struct {
	segment
	shapes []shape
	cells  []cell
	known  prior
	span   float64   // range of the record
	before float64   // sum of squared errors believed beforehand
	trust  []float64 // square roots of how much points count
	top    float64   // log of the heaviest cell
}

// cell is one way for the curve to go on.
type cell struct {
	shape            int
	limit, amplitude float64
	fresh            float64 // sd of the noise that is new at each point
	lasting          float64 // sd of the errors that last
	log, weight      float64 // of the posterior; weight is relative to the heaviest cell
}

// node is a value with its prior.
type node struct{ value, log float64 }

const (
	// limitNodes is the number of limits tried below a target, and as many
	// above it.
	limitNodes = 24
	// rhoNodes is the number of autocorrelations tried, from 0 to under 1.
	rhoNodes = 8
	// negligible is the weight, relative to the heaviest, below which a cell
	// cannot move a quantile.
	negligible = 1e-4
)

// at returns the curve of a cell after x steps.
func (p *posterior) at(c cell, x float64) float64 {
	return (c.limit + c.amplitude*p.shapes[c.shape].at(x-p.start)) * p.ratioAt(x)
}

// end returns what the curve of a cell levels off at, all cuts made.
func (p *posterior) end(c cell) float64 { return c.limit * p.ratioAt(math.Inf(1)) }

// posterior returns the posterior for a target below the record: limits on
// either side of it weigh the same beforehand. Where the target is the level of
// the record there are only limits below it.
func (c *Curve) posterior(target float64) *posterior {
	p := &posterior{segment: c.lastSegment(), known: c.beliefs(), top: math.Inf(-1)}
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range c.Recorded {
		low, high = math.Min(low, q.Loss), math.Max(high, q.Loss)
	}
	p.span = math.Max(high-low, 1e-9)
	if len(c.Templates) > 0 {
		p.segment = segment{points: c.Recorded, ratio: 1}
	}
	// Where a curve is still far above what it has got to since, no form is
	// exact: training warms up, and falls fast before it settles.
	level := medianLoss(p.points[len(p.points)-max(len(p.points)/3, 1):])
	for _, q := range p.points {
		d := (q.Loss - level) / (p.known.Early * p.span)
		p.trust = append(p.trust, 1/math.Sqrt(1+d*d))
	}
	noise, misfit := p.known.Noise*p.span, p.known.Misfit*p.span
	p.before = noise*noise + float64(len(p.points))*misfit*misfit
	if len(c.Templates) > 0 {
		p.layTemplates(c.Templates)
	} else {
		p.search(allSpots(len(p.points), c.LastX-p.start), p.limits(target))
	}
	p.prune()
	return p
}

// search weighs shapes. Where one holds much of the posterior the grid is too
// coarse, and it and its neighbours are split, some rounds long.
func (p *posterior) search(spots []spot, limits []node) {
	const rounds = 5
	var all []spot // by index of the shape
	for round := 1; ; round++ {
		for _, s := range spots {
			own := slices.Clone(limits)
			for i := range own {
				own[i].log += s.log()
			}
			p.shapes, all = append(p.shapes, s.shape()), append(all, s)
			p.weigh(len(p.shapes)-1, own, nil)
		}
		heavy := p.heavy(all)
		if len(heavy) == 0 || round == rounds {
			return
		}
		spots = nil
		for i := range all {
			if s := &all[i]; !s.gone && slices.ContainsFunc(heavy, s.touches) {
				spots = append(spots, s.split()...)
				s.gone = true
			}
		}
		p.cells = slices.DeleteFunc(p.cells, func(c cell) bool { return all[c.shape].gone })
		p.top = math.Inf(-1)
		for _, c := range p.cells {
			p.top = math.Max(p.top, c.log)
		}
	}
}

// heavy returns the spots that hold more than a sixteenth of the posterior.
func (p *posterior) heavy(all []spot) []spot {
	mass, total := make([]float64, len(all)), 0.0
	for _, c := range p.cells {
		w := math.Exp(c.log - p.top)
		mass[c.shape] += w
		total += w
	}
	var out []spot
	for i, m := range mass {
		if m > total/16 {
			out = append(out, all[i])
		}
	}
	return out
}

// limits returns the limits tried for a target. Those below it are weighed by
// how far: people ask for targets near what their training reaches, so that
// gaps of some hundredths of the way are likely, those of a thousandth or a
// half are not. Those above it are spread evenly in the logarithm of their
// distance from the level that the record has got to.
func (p *posterior) limits(target float64) []node {
	final := p.ratioAt(math.Inf(1))
	way := math.Max(p.points[0].Loss-target, p.span)
	var below, above []node
	for _, gap := range geometric(1./256, 1, limitNodes) {
		z := math.Log(gap/p.known.GapMedian) / p.known.GapSD
		below = append(below, node{(target - gap*way) / final, -z * z / 2})
	}
	normalize(below)
	level := final * medianLoss(p.points[len(p.points)-max(len(p.points)/3, 1):])
	if target < level {
		for _, d := range geometric(1./256, 1, limitNodes) {
			above = append(above, node{(level - d*(level-target)) / final, 0})
		}
		normalize(above)
	}
	return append(below, above...)
}

// normalize makes priors sum to 1.
func normalize(nodes []node) {
	var sum float64
	for _, n := range nodes {
		sum += math.Exp(n.log)
	}
	for i := range nodes {
		nodes[i].log -= math.Log(sum)
	}
}

// weigh adds the cells of a shape. Without amplitudes the one that fits best is
// taken, and weighed by how far above the first point the curve would have
// begun: training starts from a loss that is finite, about a range away at
// most, which rules out the steepest curves.
func (p *posterior) weigh(i int, limits, amplitudes []node) {
	n := len(p.points)
	g, one, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, q := range p.points {
		w := p.trust[k]
		g[k], one[k], y[k] = w*p.shapes[i].at(q.X-p.start), w, w*q.Loss
	}
	sums := [...]product{multiply(g, g), multiply(g, one), multiply(g, y), multiply(one, one), multiply(one, y), multiply(y, y)}
	for r := range rhoNodes {
		rho := float64(r) / rhoNodes
		var s [len(sums)]float64
		for k := range sums {
			s[k] = sums[k].whitened(rho)
		}
		gg, g1, gy, o1, y1, yy := s[0], s[1], s[2], s[3], s[4], s[5]
		add := func(limit, a, log float64) {
			if a > 0 {
				rss := yy - 2*limit*y1 - 2*a*gy + limit*limit*o1 + 2*a*limit*g1 + a*a*gg
				p.add(cell{shape: i, limit: limit, amplitude: a, log: log}, math.Max(rss, 0), rho)
			}
		}
		for _, limit := range limits {
			for _, a := range amplitudes {
				add(limit.value, a.value, limit.log+a.log)
			}
			if amplitudes == nil && gg > 0 {
				a := (gy - limit.value*g1) / gg
				over := math.Max(limit.value+a-p.points[0].Loss, 0) / p.span
				add(limit.value, a, limit.log-over*over/2)
			}
		}
	}
}

// add weighs a cell by its squared errors: the marginal likelihood with one
// prior observation of the noise. No curve is exactly of a form on the grid,
// so that every point is forgiven a misfit.
func (p *posterior) add(c cell, rss, rho float64) {
	n := float64(len(p.points))
	c.log += math.Log(1-rho*rho)/2 - (n+1)/2*math.Log(rss/p.before+1)
	if c.log < p.top+math.Log(negligible) {
		return
	}
	p.top = math.Max(p.top, c.log)
	c.fresh = math.Sqrt((rss + p.before) / (n + 1))
	c.lasting = c.fresh * rho / math.Sqrt(1-rho*rho)
	p.cells = append(p.cells, c)
}

// prune turns logs into weights and keeps the heaviest cells, which together
// weigh all but what cannot move a quantile.
func (p *posterior) prune() {
	total, kept := 0.0, 0.0
	for i, c := range p.cells {
		p.cells[i].weight = math.Exp(c.log - p.top)
		total += p.cells[i].weight
	}
	p.cells = slices.DeleteFunc(p.cells, func(c cell) bool { return !(c.weight >= negligible) })
	slices.SortStableFunc(p.cells, func(a, b cell) int { return cmp.Compare(b.weight, a.weight) })
	for i, c := range p.cells {
		if kept += c.weight; kept >= total*(1-1./256) {
			p.cells = p.cells[:i+1]
			return
		}
	}
}

// product is what the inner product of two series is made of, once both are
// freed of an autocorrelation.
type product struct{ all, lagged, first, last float64 }

func multiply(u, v []float64) product {
	n := len(u)
	p := product{first: u[0] * v[0], last: u[n-1] * v[n-1]}
	for i := range u {
		p.all += u[i] * v[i]
		if i > 0 {
			p.lagged += u[i]*v[i-1] + u[i-1]*v[i]
		}
	}
	return p
}

// whitened returns (1−ρ²)·u₀v₀ + Σ (u_i − ρ·u_(i−1))·(v_i − ρ·v_(i−1)).
func (p product) whitened(rho float64) float64 {
	return p.all - rho*p.lagged + rho*rho*(p.all-p.first-p.last)
}
