package convergence

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// posterior is a sample of equally likely curves that agree with a record. A single best
// fit does not suffice: early in a run, curves that end far apart fit equally well.
//
// A curve is f(x) = c + a·g(x) for a shape g of a grid. Recorded values have errors of an
// autoregression of order one, e_i = ρ·e_(i−1) + fresh noise, with ρ from a grid: white
// noise has ρ = 0; a shape that fits badly leaves errors of one sign for long, ρ near 1, so
// that many points count as few. The values of the curve at either end of the record are
// integrated out under a flat prior, the noise's variance under an inverse gamma prior
// (Zellner, An Introduction to Bayesian Inference in Econometrics, 1971, sections 3.2 and
// 4.1).
type posterior struct {
	segment
	draws []draw
}

// draw is one curve of the posterior.
type draw struct {
	shape            shape
	lift             float64 // part of the loss in proportion to the learning rate, at its highest
	start            float64 // origin of the shape, steps
	limit, amplitude float64 // c and a
	fresh            float64 // sd of the noise new at each point
	lasting          float64 // autocorrelated part of the error, drawn
}

const (
	// drawCount is the number of curves drawn.
	drawCount = 512
	// rhoNodes is the number of autocorrelations, from 0 to below 1.
	rhoNodes = 4
	// noiseBefore is the prior's noise, as a share of the range, worth one
	// observation: records without noise are of no shape exactly. Recorded runs
	// are predicted equally well from a thousandth to a hundredth.
	noiseBefore = .003
	// mostPatches approximately bounds the patches of a regression, for time. A
	// patch is divided if it may hold more than one in patchesWorth of the
	// probability of a record.
	mostPatches  = 2048
	patchesWorth = 50
)

// at returns the loss of a draw after x steps.
func (p *posterior) at(d draw, x float64) float64 {
	loss := d.limit + d.amplitude*d.shape.at(x-d.start)
	if d.lift > 0 {
		loss += d.lift * p.rate(x)
	}
	return loss * p.ratioAt(x)
}

// end returns the limit of a draw, after all cuts.
func (p *posterior) end(d draw) float64 {
	if d.amplitude <= 0 { // it rises
		return math.Inf(1)
	}
	return d.limit * p.ratioAt(math.Inf(1))
}

// posterior returns that of the last segment, if a spike at its end passes and if it stays.
func (c *Curve) posterior() *posterior {
	p := &posterior{segment: c.lastSegment()}
	parts, logs := c.hypotheses(p.segment)
	if len(c.Spike) > 0 {
		risen, l := c.hypotheses(segment{points: slices.Concat(p.points, c.Spike), start: p.start, plan: p.plan})
		floats.AddConst(math.Log(1-c.spikeStays()), logs)
		floats.AddConst(math.Log(c.spikeStays()), l)
		parts, logs = append(parts, risen...), append(logs, l...)
	}
	rng := rand.New(rand.NewPCG(0, 0))
	sum, next := 0., .5 // systematic sampling in proportion to the cells' weights
	for i, r := range parts {
		for _, k := range r.cells {
			sum += drawCount * math.Exp(logs[i]+k.log)
			for ; next < sum && len(p.draws) < drawCount; next++ {
				p.draws = append(p.draws, r.draw(k, rng))
			}
		}
	}
	return p
}

// spikeStays is the probability that a spike at the end of the record stays, by
// Laplace's rule of succession after those that passed.
func (c *Curve) spikeStays() float64 { return 1 / float64(c.Spikes+2) }

// hypotheses returns the fits of a segment, with ln of their probabilities.
//
// The learning rate may have risen from 0 over a part of the record (warmups). The loss is
// flat at first then, and without a warm-up only curves that level off soon have such a
// shoulder.
//
// With the prior probability Schedule, of a run with a planned end and without milestones,
// a part of the loss is in proportion to a learning rate that falls to that end: such losses
// level off first, and fall faster later (Tissue, Wang and Wang, "Scaling law with learning
// rate annealing", 2024).
//
// With the prior probability Break the learning rate was cut at an unknown point:
// candidates are multiples of an eighth of the points. The curve after the cut
// is then separate, with the evidence of both sides against that of the whole.
func (c *Curve) hypotheses(s segment) (parts []*regression, logs []float64) {
	whole := newRegression(s, nil)
	chance, n := c.beliefs().Break, len(s.points)
	parts, logs = []*regression{whole}, []float64{whole.fit(mostPatches, 1) + math.Log(1-chance)}
	if c.Planned > 0 && len(c.Milestones) == 0 {
		logs[0] += math.Log(1 - c.beliefs().Schedule)
		for k := range liftCount {
			r := newRegression(s, nil)
			r.lifted(math.Exp2(-1 - 4*float64(k)/(liftCount-1)))
			parts, logs = append(parts, r), append(logs, r.fit(1, 1)+math.Log((1-chance)*c.beliefs().Schedule/liftCount))
		}
	}
	if s.start == 0 { // else the warm-up is over
		lengths, chances := c.warmups()
		logs[0] += math.Log(1 - floats.Sum(chances))
		for i, w := range lengths {
			r := newRegression(s, nil)
			r.warmup = w
			parts, logs = append(parts, r), append(logs, r.fit(1, 1)+math.Log((1-chance)*chances[i]))
		}
	}
	for i := eighth(n); i+eighth(n) <= n; i += eighth(n) {
		before := newRegression(segment{points: s.points[:i], start: s.start}, whole)
		after := newRegression(segment{points: s.points[i:], start: s.points[i-1].X}, whole)
		parts, logs = append(parts, after), append(logs, before.fit(1, 1)+after.fit(1, 1)+math.Log(chance/8))
	}
	total := floats.LogSumExp(logs)
	for i, r := range parts {
		if i > 0 && logs[i] > total-math.Log(drawCount) { // likely enough to be drawn
			share := math.Exp(logs[i] - total)
			logs[i] -= r.evidence
			logs[i] += r.fit(mostPatches, share)
		}
	}
	floats.AddConst(-floats.LogSumExp(logs), logs)
	return parts, logs
}

// warmups returns lengths of a warm-up in steps, each half the one before, and their prior
// probabilities. With the prior probability Warmup there is one, and the logarithm of its
// length is uniform from a thousandth to a tenth of the run: 1 % of it for BERT, 4 for the
// Transformer, 6 for ResNet-50 in large batches. The run is as long as planned, or of a
// length as in [Curve.anywhere]. Those under a 32nd of the record are too short to matter.
func (c *Curve) warmups() (lengths, chances []float64) {
	known := c.beliefs()
	for part := .5; part >= 1./32; part /= 2 { // from part to twice the part of the record
		w := math.Sqrt2 * part * c.LastX
		long := math.Min(c.LastX/(10*w), 1) // probability that the run is ten times as long
		if c.Planned > c.LastX {
			long *= known.WrongPlan
			if 10*w <= c.Planned && c.Planned <= 1000*w {
				long += 1 - known.WrongPlan
			}
		}
		lengths = append(lengths, w)
		chances = append(chances, known.Warmup*long*math.Ln2/math.Log(100))
	}
	return lengths, chances
}

// liftCount parts of the loss may fall with the learning rate, from a 32nd to half of the
// range of the record.
const liftCount = 9

// lifted takes a share of the range that falls with the learning rate off the losses.
func (r *regression) lifted(share float64) {
	r.lift = share * r.span
	for i, q := range r.points {
		r.y[i] -= r.lift * r.rate(q.X)
	}
}

// eighth is an eighth of so many points, the least length of a segment.
func eighth(points int) int { return max(points/8, minSegment) }

// regression fits shapes to a stretch of a record.
type regression struct {
	segment
	warmup        float64   // steps over which the learning rate rose
	lift          float64   // see draw
	span, before  float64   // range of the record, and squared error of the prior
	y, first, fin []float64 // losses, and the weight of the value at either end in each
	cells         []cell
	evidence      float64 // ln
}

// newRegression returns the regression of a stretch, with the range of whole if part of it.
func newRegression(s segment, whole *regression) *regression {
	n := len(s.points)
	r := &regression{segment: s, y: losses(s.points), first: make([]float64, n), fin: make([]float64, n)}
	if r.span = math.Max(slices.Max(r.y)-slices.Min(r.y), 1e-9); whole != nil {
		r.span = whole.span
	}
	r.before = math.Pow(noiseBefore*r.span, 2)
	return r
}

// fit computes the cells, with weights that sum to 1, and returns the evidence: the density
// of the record with all parameters integrated out, for end values within its range. The
// prior of shapes is averaged over all patches, which counts against cuts.
//
// Up to most patches, those are divided that may hold more than one in patchesWorth of the
// probability and have shapes that differ: without noise shapes fit that are closer than any
// fixed grid. share is the probability of the regression among its rivals.
func (r *regression) fit(most int, share float64) float64 {
	n := len(r.points)
	roots := patches(n, r.points[n-1].X-r.start)
	r.cells = nil
	var logs []float64
	for divide, tried := roots, 0; len(divide) > 0; {
		var tiles []tile
		all, least := slices.Clone(logs), [rhoNodes]float64{}
		for _, p := range divide {
			for _, t := range r.divide(p) {
				tiles = append(tiles, t)
				for _, k := range t.cells {
					all = append(all, k.log)
					if l := &least[k.node]; *l == 0 || k.rss < *l {
						*l = k.rss
					}
				}
			}
		}
		if len(all) == 0 {
			r.evidence = math.Inf(-1)
			return r.evidence
		}
		tried, divide = tried+len(tiles), nil
		enough := floats.LogSumExp(all) - math.Log(patchesWorth*share)
		for _, t := range tiles {
			if tried < most && t.hope(least, r.freedom()) > enough {
				divide = append(divide, t.patch)
				continue
			}
			for _, k := range t.cells {
				logs, r.cells = append(logs, k.log), append(r.cells, k)
			}
		}
	}
	total := floats.LogSumExp(logs)
	for i := range r.cells {
		r.cells[i].log -= total
	}
	area := 0.
	for _, p := range roots {
		area += p.width * p.height
	}
	gamma, _ := math.Lgamma(r.freedom() / 2)
	r.evidence = total - math.Log(area*rhoNodes) - 2*math.Log(r.span) + gamma - math.Log(math.Pi)/2 - (r.freedom()-1)/2*math.Log(math.Pi*r.before)
	return r.evidence
}

// tile is a patch with the cells of its central shape.
type tile struct {
	patch
	cells []cell
	miss  []product // of the difference between the shapes of the patch, with themselves
}

// divide returns the quarters of a patch whose shape falls over the record.
func (r *regression) divide(p patch) (tiles []tile) {
	around := make([]float64, len(r.points))
	if r.normalise(p.centre(r.warmup)) {
		copy(around, r.first)
	}
	var miss []product
	for _, q := range p.quarters() {
		t := tile{patch: q, cells: r.weigh(q.centre(r.warmup))}
		if t.cells == nil {
			continue
		}
		for i := range t.cells {
			t.cells[i].log += math.Log(q.width * q.height)
		}
		floats.Sub(r.first, around)
		miss, tiles = append(miss, multiply(r.first, r.first)), append(tiles, t)
	}
	for i := range tiles {
		tiles[i].miss = miss
	}
	return tiles
}

// hope returns ln of the most weight of the shapes of a tile; −Inf if they fit as well as
// its central one. least is the least squared error by autocorrelation.
func (t tile) hope(least [rhoNodes]float64, freedom float64) float64 {
	hope := math.Inf(-1)
	for _, k := range t.cells {
		miss := 0.
		for _, d := range t.miss {
			miss = math.Max(miss, d.whitened(k.rho()))
		}
		miss = math.Sqrt(miss) * math.Abs(k.first-k.last)
		if best := least[k.node]; miss*miss*freedom > best {
			rss := math.Pow(math.Max(math.Sqrt(k.rss)-miss, math.Sqrt(best)), 2)
			hope = math.Max(hope, k.log+freedom/2*math.Log(k.rss/rss))
		}
	}
	return hope
}

// cell is a shape and autocorrelation with its posterior.
type cell struct {
	shape       shape
	node        int        // of the autocorrelation
	first, last float64    // posterior means of the curve at either end of the record
	precision   [3]float64 // precision of the two, times the noise's variance: 11, 12, 22
	rss         float64    // sum of squared errors, including the prior's
	log         float64    // ln of the posterior weight
}

// rho is the autocorrelation.
func (k cell) rho() float64 { return float64(k.node) / rhoNodes }

// ends returns a shape at the first and last point.
func (r *regression) ends(g shape) (first, last float64) {
	return g.at(r.points[0].X - r.start), g.at(r.points[len(r.points)-1].X - r.start)
}

// normalise sets first and fin; false if the shape does not fall over the record.
func (r *regression) normalise(g shape) bool {
	g0, g1 := r.ends(g)
	if !(g0-g1 > 1e-9) {
		return false
	}
	for i, q := range r.points {
		r.first[i] = (g.at(q.X-r.start) - g1) / (g0 - g1)
		r.fin[i] = 1 - r.first[i]
	}
	return true
}

// weigh returns a cell for each autocorrelation of a shape that falls over the
// record. A shape determines the share recorded of the way from the first point
// to the limit; the prior of that share is uniform.
func (r *regression) weigh(g shape) []cell {
	if !r.normalise(g) {
		return nil
	}
	g0, g1 := r.ends(g)
	ff, fl, ll := multiply(r.first, r.first), multiply(r.first, r.fin), multiply(r.fin, r.fin)
	fy, ly, yy := multiply(r.first, r.y), multiply(r.fin, r.y), multiply(r.y, r.y)
	ahead := g1 / (g0 - g1) // way ahead relative to the way recorded
	prior := math.Log(ahead) - 2*math.Log1p(ahead)
	var cells []cell
	for i := range rhoNodes {
		k := cell{shape: g, node: i}
		rho := k.rho()
		a, b, d := ff.whitened(rho), fl.whitened(rho), ll.whitened(rho)
		u, v := fy.whitened(rho), ly.whitened(rho)
		det := a*d - b*b
		if !(det > 0) {
			continue
		}
		k.precision, k.first, k.last = [3]float64{a, b, d}, (d*u-b*v)/det, (a*v-b*u)/det
		k.rss = math.Max(yy.whitened(rho)-k.first*u-k.last*v, 0) + r.before
		k.log = prior + math.Log((1-rho*rho)/det)/2 - r.freedom()/2*math.Log(k.rss/r.before)
		cells = append(cells, k)
	}
	return cells
}

// freedom returns the degrees of freedom of the noise: points minus two ends,
// plus one observation of the prior.
func (r *regression) freedom() float64 { return float64(len(r.points) - 1) }

// draw draws one curve of a cell.
func (r *regression) draw(k cell, rng *rand.Rand) draw {
	sd := math.Sqrt(k.rss / distuv.ChiSquared{K: r.freedom(), Src: rng}.Rand())
	a, b, d := k.precision[0], k.precision[1], k.precision[2]
	det := a*d - b*b
	// last given first, by the Cholesky factor of the covariance
	z := sd * math.Sqrt(d/det) * rng.NormFloat64()
	first := k.first + z
	last := k.last - b/d*z + sd/math.Sqrt(d)*rng.NormFloat64()
	g0, g1 := r.ends(k.shape)
	out := draw{shape: k.shape, start: r.start, fresh: sd, amplitude: (first - last) / (g0 - g1), lift: r.lift}
	out.limit = last - out.amplitude*g1
	out.lasting = sd * k.rho() / math.Sqrt(1-k.rho()*k.rho()) * rng.NormFloat64()
	return out
}

// product holds the sums of an inner product for any autocorrelation.
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
