package speed

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/leastsq"
	"knee/internal/quantile"
)

// draws is the number of posterior draws behind an interval, in antithetic
// pairs.
const draws = 128

// posterior is what predictions of a group alone are made from: draws of the
// parameters, and the process on what each leaves over.
type posterior struct {
	task   *task
	lower  *gp.Factor     // of the covariance of the step times
	scale  float64        // of the process in it
	best   form.Curve     // at the mode
	atMode []float64      // K⁻¹·residual of that
	drawn  [][]float64    // θ of every draw
	times  []int          // how often each draw of the normal is among drawn
	mine   []int          // the draws that the average takes from here
	curves []form.Curve   // of those
	weight blas64.General // K⁻¹·residual of curves, one row per measurement
	scales [draws]float64 // of the process
	noise  []float64      // standard t variates, one per draw: for a new run
	gauss  []float64      // standard normal variates, one per draw: for the process
	fresh  float64        // sd of a new run
	tail   float64        // degrees of freedom of noise
	// mean and variance of θ over the draws
	mean, variance []float64
}

// newPosterior samples the posterior of the parameters: a Laplace
// approximation, a normal around the mode with the inverse of the Hessian's
// Gauss-Newton part as covariance, corrected by importance. Where few
// measurements hold the parameters the normal reaches far into what they
// exclude. mine are the draws that will be asked for; times is how often each
// draw of the normal is kept, nil to find out.
func newPosterior(g *group, w *whitening, seed uint64, mine, times []int) *posterior {
	t := g.task
	q := &posterior{task: t, lower: w.step, scale: g.size.Scale, tail: g.prior.Tail, mine: mine, times: times}
	q.best = t.form.Bind(t.coords.theta(g.z))
	q.fresh = g.size.Noise * math.Sqrt(sq(t.kernel.Noise)+t.runVariance(&row{}))
	rng := rand.New(rand.NewPCG(seed, 0x6b6e6565))
	others := q.drawParameters(g.z, w, rng)
	q.gauss = stratified(distuv.UnitNormal, draws, rng)
	q.noise = stratifiedHalf(upperOfT(g.prior.Tail), rng)
	q.noise = append(q.noise, negated(q.noise)...)
	decorrelate(q.gauss, others)
	decorrelate(q.noise, append(others, q.gauss))
	for d := range q.scales {
		q.scales[d] = quantile.Weighted(g.size.Scales, g.size.Chance, (float64(d)+.5)/draws)
	}
	rng.Shuffle(draws, func(i, j int) { q.scales[i], q.scales[j] = q.scales[j], q.scales[i] })
	for _, d := range mine {
		q.curves = append(q.curves, t.form.Bind(q.drawn[d]))
	}
	if t.kernel.smooth {
		q.atMode = t.residualWeights(w, []form.Curve{q.best}).Data
		if len(mine) > 0 {
			q.weight = t.residualWeights(w, q.curves)
		}
	}
	return q
}

// drawParameters draws the curves and returns the coordinates of the draws
// along the posterior's axes, one slice per axis.
func (q *posterior) drawParameters(z []float64, w *whitening, rng *rand.Rand) (along [][]float64) {
	problem := q.task.problem(w)
	n := len(z)
	j := leastsq.Jacobian(problem, z)
	a := mat.NewSymDense(n, nil)
	a.SymOuterK(1, j.T())
	var eig mat.EigenSym
	eig.Factorize(a, true) // symmetric, finite and at least the identity
	var axes mat.Dense
	eig.VectorsTo(&axes)
	precision := eig.Values(nil)
	u := make([][]float64, n)
	sizes := upper(distuv.UnitNormal, draws/2)
	for k := range u {
		u[k] = stratifiedHalf(sizes, rng)
		decorrelate(u[k], u[:k])
	}
	thetas, length := make([][]float64, 0, draws), make([]float64, 0, draws) // half the squared length in sds
	var zs [][]float64
	for pair := range draws / 2 {
		plus, minus := slices.Clone(z), slices.Clone(z)
		var l float64
		for k := range n {
			l += u[k][pair] * u[k][pair] / 2
			for i := range n {
				d := axes.At(i, k) * u[k][pair] / math.Sqrt(max(precision[k], 1))
				plus[i] += d
				minus[i] -= d
			}
		}
		zs, length = append(zs, plus, minus), append(length, l, l)
	}
	if q.times == nil {
		q.times = resample(problem, zs, length)
	}
	for _, z := range zs {
		thetas = append(thetas, q.task.coords.theta(z))
	}
	along = make([][]float64, n, n+1)
	q.mean, q.variance = make([]float64, n), make([]float64, n)
	for d, times := range q.times {
		if times == 0 {
			continue
		}
		for range times {
			q.drawn = append(q.drawn, thetas[d])
			for k := range n {
				along[k] = append(along[k], u[k][d/2]*float64(1-d%2*2))
			}
			for i, v := range thetas[d] { // Welford's algorithm
				delta := v - q.mean[i]
				q.mean[i] += delta / float64(len(q.drawn))
				q.variance[i] += delta * (v - q.mean[i]) / draws
			}
		}
	}
	return along
}

// residualWeights solves K·w = residual for every curve, one column each.
func (t *task) residualWeights(w *whitening, curves []form.Curve) blas64.General {
	r := general(len(t.pts), len(curves))
	for d, c := range curves {
		for i := range t.pts {
			step, _ := c.LogTimes(&t.pts[i])
			r.Data[i*r.Stride+d] = t.ln[i] - step
		}
	}
	w.step.Solve(r)
	return r
}

// spread fills of, one number for each of mine, with what the draws say of ln
// step time, and returns the variance that the process leaves open at scale 1.
// A nil memo remembers nothing.
func (q *posterior) spread(p *form.Point, shared *memo, of []float64) (process float64) {
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

// centralMemo is what [posterior.central] remembers of the point before.
type centralMemo struct {
	before  *form.Point
	places  []float64 // placeCov with each measurement
	process float64
}

// central is ln of the step time at the mode of the posterior.
func (q *posterior) central(p *form.Point, m *centralMemo) float64 {
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

// estimate returns the step time in seconds from draws of its logarithm, the
// interval of which is widened by caution. It reorders the draws.
func estimate(of []float64, caution float64) (e data.Estimate, median float64) {
	e = quantiles(of)
	median = quantile.Sorted(of, .5)
	e.Lo = min(median*math.Pow(e.Lo/median, caution), e.Mean)
	e.Hi = max(median*math.Pow(e.Hi/median, caution), e.Mean)
	return e, median
}

// quantiles summarises draws of a logarithm. It sorts them and takes their
// exponentials.
func quantiles(of []float64) data.Estimate {
	slices.Sort(of)
	for d, v := range of {
		of[d] = math.Exp(v)
	}
	lo, hi := quantile.Sorted(of, .05), quantile.Sorted(of, .95)
	return data.Estimate{Mean: min(max(relativeMedian(of), lo), hi), Lo: lo, Hi: hi}
}

// relativeMedian returns the value that minimises the expected absolute
// relative error |v/t − 1| over ascending draws t: their median under weights
// 1/t (Gneiting, "Making and Evaluating Point Forecasts", 2011, section 3).
func relativeMedian(t []float64) float64 {
	var total, sum float64
	for _, v := range t {
		total += 1 / v
	}
	for i, v := range t {
		if next := sum + 1/v; next >= total/2 {
			if i == 0 {
				return v
			}
			// Between two draws, where half the weight is reached.
			return t[i-1] + (v-t[i-1])*(total/2-sum)*v
		} else {
			sum = next
		}
	}
	return t[len(t)-1]
}

// parameters returns those of the mode for a GPU type, with intervals from the
// draws.
func (q *posterior) parameters(t int) []form.Param {
	ps := form.ParamsOf(q.best, t)
	values := make([][]float64, len(ps))
	for _, theta := range q.drawn {
		for i, p := range form.ParamsOf(q.task.form.Bind(theta), t) {
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
