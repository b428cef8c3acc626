package speed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/leastsq"
	"knee/internal/quantile"
)

// proposals is the number of proposals around the mode, of which few become
// draws of the posterior, or many where predictions spread widely.
const few, many, proposals = 128, 256, 512

// posterior is the posterior of a group without its members: draws of the
// parameters, and the process on the residual of each.
type posterior struct {
	task   *task
	scaled *form.Scale            // with the assumptions on unknown batches and nodes
	lower  *gp.Factor             // of the covariance of the step times
	scale  float64                // scale of the process in lower
	best   form.Curve             // at the mode
	atMode []float64              // K⁻¹·residual of best
	around func(at int) []float64 // z of a proposal around the mode
	from   []int                  // proposal of each draw
	mine   []int                  // draws used by the average
	curves []form.Curve           // curves of mine, without repetitions
	which  []int                  // index in curves of each of mine
	weight blas64.General         // K⁻¹·residual of curves, one row per measurement
	scales []float64              // process scale of each draw
	noise  []float64              // standard t variates, one per draw: for a new run
	gauss  []float64              // standard normal variates, one per draw: for the process
	fresh  float64                // sd of a new run
	tail   float64                // degrees of freedom of noise
}

// newPosterior returns the posterior of a group at its mode, without draws: its
// proposals are from a t distribution around the mode, with the inverse
// Gauss-Newton Hessian as scale.
func newPosterior(g *group, w *gp.Factor, seed uint64) (*posterior, error) {
	t, n := g.task, len(g.z)
	q := &posterior{task: t, scaled: &g.scale, lower: w, scale: g.size.Scale, tail: g.prior.Tail}
	q.best = t.form.Bind(t.coords.theta(g.z))
	q.fresh = g.size.Noise * math.Sqrt(sq(t.kernel.Noise)+t.runVariance(&row{}))
	precision := mat.NewSymDense(n, nil)
	precision.SymOuterK(1, leastsq.Jacobian(t.problem(w), g.z).T())
	// Unlike principal axes those of the Cholesky factor L are unique, where
	// nothing was measured of several parameters too: z = mode + L⁻ᵀu.
	axes, err := gp.Factorize(precision)
	if err != nil {
		return nil, err
	}
	d := designOf(designKey{seed, n, g.prior.Tail})
	q.around = func(at int) []float64 {
		x := make([]float64, n)
		for k := range x {
			x[k] = d.at(k, at)
		}
		axes.WhitenTransposed(x)
		blas64.Axpy(1, vec(g.z), vec(x))
		return x
	}
	return q, nil
}

// weights returns the importance weights of the proposals: with few
// measurements the posterior is asymmetric with heavy tails.
func (q *posterior) weights(g *group, seed uint64) []float64 {
	return importance(g.density(q.lower), q.around, designOf(designKey{seed, len(g.z), g.prior.Tail}).length)
}

// draw makes the draws from proposals, and prepares those that are mine.
func (q *posterior) draw(g *group, seed uint64, from, mine []int) {
	t := q.task
	q.from, q.mine = from, mine
	d := designOf(designKey{seed, len(g.z), g.prior.Tail})
	along := make([][]float64, len(g.z), len(g.z)+1)
	for k := range along {
		for _, at := range from {
			along[k] = append(along[k], d.at(k, at))
		}
	}
	v := variatesOf(variateKey{seed, len(from), g.prior.Tail})
	q.gauss, q.noise = slices.Clone(v.gauss), slices.Clone(v.noise)
	decorrelate(q.gauss, along)
	decorrelate(q.noise, append(along, q.gauss))
	q.scales = make([]float64, len(from))
	for i, at := range v.order {
		q.scales[i] = quantile.Weighted(g.size.Scales, g.size.Chance, (float64(at)+.5)/float64(len(from)))
	}
	for i, d := range mine {
		if i == 0 || from[d] != from[mine[i-1]] {
			q.curves = append(q.curves, t.form.Bind(q.theta(from[d])))
		}
		q.which = append(q.which, len(q.curves)-1)
	}
	if t.kernel.smooth {
		q.atMode = t.residualWeights(q.lower, []form.Curve{q.best}).Data
		if len(mine) > 0 {
			q.weight = t.residualWeights(q.lower, q.curves)
		}
	}
}

// drawsFor returns the number of draws that predictions need. A median of n
// draws of standard deviation s is 1.25·s/√n off: at most 1 % at eight times the
// widest measured configuration of a GPU type, or else they are many.
func (q *posterior) drawsFor(g *group, weights []float64) int {
	const tolerance = .01
	from := systematic(weights, few)
	for t := range g.types {
		p := g.beyond(t)
		ln := make([]float64, len(from))
		for d, at := range from {
			ln[d], _ = q.task.form.Bind(q.theta(at)).LogTimes(&p)
		}
		if 1.25*stat.PopStdDev(ln, nil) > tolerance*math.Sqrt(few) {
			return many
		}
	}
	return few
}

// beyond returns the point of the widest measured configuration of a GPU type
// with eight times the workers, servers and nodes.
func (g *group) beyond(t int) form.Point {
	var c data.Config
	for i := range g.rows {
		if r := g.rows[i].Config; r.GPUType == g.types[t] && r.Workers >= c.Workers {
			c = r
		}
	}
	c.Nodes, c.Placement, c.Workers, c.PS = 8*c.NodeCount(), nil, 8*c.Workers, 8*c.PS
	p, _ := g.point(c)
	return p
}

// density returns the log posterior density of the parameters, up to a
// constant, summed over the probable scales of the process.
func (g *group) density(likeliest *gp.Factor) func(z []float64) float64 {
	t := g.task
	type scaled struct {
		w  *gp.Factor
		ln float64 // prior, and the constant of the likelihood
	}
	scales := []scaled{{likeliest, 0}}
	if t.kernel.smooth {
		scales = nil
	}
	for i, s := range g.size.Scales {
		if !t.kernel.smooth || g.size.Chance[i]*few < 1 {
			continue
		}
		if w, err := t.whiten(s, g.size.Noise); err == nil {
			scales = append(scales, scaled{w, -sq(math.Log(s)/g.prior.Scatter)/2 - w.LogDet()/2})
		}
	}
	n := len(t.rows)
	r, step := make([]float64, len(t.ln)+len(g.z)+len(t.links)), make([]float64, n)
	return func(z []float64) float64 {
		t.residuals(z, r)
		t.beliefs(z, r[len(t.ln):])
		sum := math.Inf(-1)
		for _, s := range scales {
			copy(step, r)
			s.w.Whiten(step)
			ln := s.ln - blas64.Dot(vec(step), vec(step))/2
			top := max(sum, ln)
			sum = top + math.Log(math.Exp(sum-top)+math.Exp(ln-top))
		}
		if t.micro != nil {
			t.micro.Whiten(r[n:len(t.ln)])
		}
		return sum - blas64.Dot(vec(r[n:]), vec(r[n:]))/2
	}
}

// theta returns the parameters of a proposal.
func (q *posterior) theta(at int) []float64 { return q.task.coords.theta(q.around(at)) }

// moments returns mean and variance of an entry of θ over the draws.
func (q *posterior) moments(at int) (mean, variance float64) {
	v := make([]float64, len(q.from))
	for d, from := range q.from {
		v[d] = q.theta(from)[at]
	}
	return stat.PopMeanVariance(v, nil)
}

// residualWeights solves K·w = residual for every curve, one column each.
func (t *task) residualWeights(w *gp.Factor, curves []form.Curve) blas64.General {
	r, shared := general(len(t.pts), len(curves)), newMemo()
	for i := range t.pts {
		row := r.Data[i*r.Stride : (i+1)*r.Stride]
		shared.addSteps(curves, &t.pts[i], row)
		for d, step := range row {
			row[d] = t.ln[i] - step
		}
	}
	w.Solve(r)
	return r
}

// at returns a point with the posterior's assumptions on what is unknown.
func (q *posterior) at(p *form.Point) *form.Point {
	if p.BatchKnown && p.Placed {
		return p
	}
	assumed := p.Assume(q.scaled)
	return &assumed
}

// spread fills of with ln step time by each of curves, and returns the process
// variance at scale 1. A nil memo caches nothing.
func (q *posterior) spread(p *form.Point, shared *memo, of []float64) (process float64) {
	p = q.at(p)
	clear(of)
	if kern := q.task.kernel; kern.smooth {
		k := make([]float64, len(q.task.pts))
		for i := range k {
			k[i] = q.scale * q.scale * kern.cov(p, &q.task.pts[i])
		}
		blas64.Gemv(blas.Trans, 1, q.weight, vec(k), 0, vec(of))
		q.lower.Whiten(k)
		process = max(kern.cov(p, p)-blas64.Dot(vec(k), vec(k))/(q.scale*q.scale), 0)
	}
	shared.addSteps(q.curves, p, of)
	return process
}

// centralMemo caches terms of [posterior.central] between similar points.
type centralMemo struct {
	before  *form.Point
	places  []float64 // placeCov with each measurement
	process float64
}

// central returns ln step time at the mode of the posterior.
func (q *posterior) central(p *form.Point, m *centralMemo) float64 {
	p = q.at(p)
	k := q.task.kernel
	sameBatch := m.before != nil && m.before.Type == p.Type && m.before.Batch == p.Batch && k.weights == nil
	if m.before == nil || !samePlace(m.before, p) {
		m.places, sameBatch = m.places[:0], false
		for i := range q.atMode {
			m.places = append(m.places, k.placeCov(p, &q.task.pts[i]))
		}
	}
	if m.before = p; !sameBatch {
		m.process = 0
		for i, w := range q.atMode {
			m.process += w * q.scale * q.scale * k.covGiven(p, &q.task.pts[i], m.places[i])
		}
	}
	ln, _ := q.best.LogTimes(p)
	return ln + m.process
}

// estimate returns the step time in seconds from draws of its logarithm, with
// the interval widened by the factor caution, and its median. It changes of.
func estimate(of []float64, caution float64) (e data.Estimate, median float64) {
	e = quantiles(of)
	median = quantile.Sorted(of, .5)
	e.Lo = min(median*math.Pow(e.Lo/median, caution), e.Mean)
	e.Hi = max(median*math.Pow(e.Hi/median, caution), e.Mean)
	return e, median
}

// quantiles summarises draws of a logarithm; it sorts and exponentiates them in
// place.
func quantiles(of []float64) data.Estimate {
	slices.Sort(of)
	for d, v := range of {
		of[d] = math.Exp(v)
	}
	lo, hi := quantile.Sorted(of, .05), quantile.Sorted(of, .95)
	return data.Estimate{Mean: min(max(cappedMedian(of), lo), hi), Lo: lo, Hi: hi}
}

// cappedMedian returns the value v that minimises the expected relative error
// min(|v/t − 1|, 1) over ascending draws t. Without the cap it is their median
// under weights 1/t (Gneiting, "Making and Evaluating Point Forecasts", 2011,
// section 3), which a few very small draws would dominate.
func cappedMedian(t []float64) float64 {
	n := len(t)
	inverse := make([]float64, n+1) // sums of 1/t
	for i, v := range t {
		inverse[i+1] = inverse[i] + 1/v
	}
	best, least := t[0], math.Inf(1)
	far := 0 // draws of at most v/2, whose error is 1
	for i, v := range t {
		for 2*t[far] <= v {
			far++
		}
		below := v*(inverse[i]-inverse[far]) - float64(i-far)
		above := float64(n-i) - v*(inverse[n]-inverse[i])
		if cost := float64(far) + below + above; cost < least {
			best, least = v, cost
		}
	}
	return best
}

// parameters returns the parameters at the mode for a GPU type, with intervals
// from the draws.
func (q *posterior) parameters(t int) []form.Param {
	ps := form.ParamsOf(q.best, t)
	values := make([][]float64, len(ps))
	for _, at := range q.from {
		for i, p := range form.ParamsOf(q.task.form.Bind(q.theta(at)), t) {
			values[i] = append(values[i], p.Value.Mean)
		}
	}
	for i, v := range values {
		slices.Sort(v)
		e := &ps[i].Value
		e.Lo, e.Hi = min(quantile.Sorted(v, .05), e.Mean), max(quantile.Sorted(v, .95), e.Mean)
	}
	return ps
}
