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

// posterior is a fitted form with everything a prediction needs computed
// once: draws of the parameters, and the process on what each leaves over.
type posterior struct {
	task    *task
	lower   *gp.Factor // of the covariance of the step times
	scale   float64    // of the process in it
	drawn   []form.Curve
	weights blas64.General // K⁻¹·residual of every draw, one row per measurement
	mode    []float64      // the same of the curve at the mode
	scales  []float64      // of the process, one per draw
	noise   []float64      // standard t variates, one per draw: for a new run
	gauss   []float64      // standard normal variates, one per draw: for the process
	fresh   float64        // sd of a new run
	tail    float64        // degrees of freedom of noise
	caution float64        // factor on the width of intervals
	// mean and variance of θ over the draws
	mean, variance []float64
}

// newPosterior samples the posterior of the parameters: a Laplace
// approximation, a normal around the mode with the inverse of the Hessian's
// Gauss-Newton part as covariance, corrected by importance. Where few
// measurements hold the parameters the normal reaches far into what they
// exclude.
func newPosterior(g *group, w *whitening, seed uint64) (*posterior, error) {
	t := g.task
	q := &posterior{task: t, lower: w.step, scale: g.size.Scale, tail: g.prior.Tail, caution: 1}
	if g.learned() {
		q.caution = g.prior.Caution
	}
	k := t.kernel
	q.fresh = g.size.Noise * math.Sqrt(sq(k.Noise)+t.runVariance(&row{}))
	rng := rand.New(rand.NewPCG(seed, 0x6b6e6565))
	zs, others := g.drawParameters(w, rng)
	q.mean, q.variance = make([]float64, len(g.z)), make([]float64, len(g.z))
	for d, z := range zs {
		theta := t.coords.theta(z)
		q.drawn = append(q.drawn, t.form.Bind(theta))
		for i, v := range theta { // Welford's algorithm
			delta := v - q.mean[i]
			q.mean[i] += delta / float64(d+1)
			q.variance[i] += delta * (v - q.mean[i]) / float64(len(zs))
		}
	}
	q.gauss = stratified(distuv.UnitNormal, draws, rng)
	q.noise = stratifiedHalf(upperOfT(g.prior.Tail), rng)
	q.noise = append(q.noise, negated(q.noise)...)
	decorrelate(q.gauss, others)
	decorrelate(q.noise, append(others, q.gauss))
	q.scales = make([]float64, draws)
	for d := range q.scales {
		q.scales[d] = quantile.Weighted(g.size.Scales, g.size.Chance, (float64(d)+.5)/draws)
	}
	rng.Shuffle(draws, func(i, j int) { q.scales[i], q.scales[j] = q.scales[j], q.scales[i] })
	if k.smooth {
		q.weights = t.residualWeights(w, q.drawn).RawMatrix()
		q.mode = t.residualWeights(w, []form.Curve{g.best}).RawMatrix().Data
	}
	return q, nil
}

// drawParameters returns draws of z and their coordinates along the
// posterior's axes, one slice per axis.
func (g *group) drawParameters(w *whitening, rng *rand.Rand) (zs, along [][]float64) {
	problem := g.task.problem(w)
	n := len(g.z)
	j := leastsq.Jacobian(problem, g.z)
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
	length := make([]float64, 0, draws) // half the squared length in sds
	for pair := range draws / 2 {
		plus, minus := append([]float64(nil), g.z...), append([]float64(nil), g.z...)
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
	kept := make([][]float64, 0, draws)
	along = make([][]float64, n, n+1)
	for _, d := range resample(problem, zs, length) {
		kept = append(kept, zs[d])
		for k := range n {
			along[k] = append(along[k], u[k][d/2]*float64(1-d%2*2))
		}
	}
	return kept, along
}

// residualWeights solves K·w = residual for every curve, one column each.
func (t *task) residualWeights(w *whitening, curves []form.Curve) *mat.Dense {
	r := mat.NewDense(len(t.pts), len(curves), nil)
	for d, c := range curves {
		for i := range t.pts {
			step, _ := c.LogTimes(&t.pts[i])
			r.Set(i, d, t.ln[i]-step)
		}
	}
	w.step.Solve(r.RawMatrix())
	return r
}

// spread fills of with what each draw says of ln step time, and returns the
// variance that the process leaves open at scale 1. A nil memo remembers
// nothing.
func (q *posterior) spread(p *form.Point, shared *memo, of []float64) (process float64) {
	clear(of)
	if kern := q.task.kernel; kern.smooth {
		k := make([]float64, len(q.task.pts))
		for i := range k {
			k[i] = q.scale * q.scale * kern.cov(p, &q.task.pts[i])
		}
		blas64.Gemv(blas.Trans, 1, q.weights, vec(k), 0, vec(of))
		q.lower.Whiten(k)
		process = max(kern.cov(p, p)-blas64.Dot(vec(k), vec(k))/(q.scale*q.scale), 0)
	}
	shared.addSteps(q.drawn, p, of)
	return process
}

// central is ln of the step time at the mode of the posterior.
func (q *posterior) central(best form.Curve, p *form.Point) float64 {
	ln, _ := best.LogTimes(p)
	for i, w := range q.mode {
		ln += w * q.scale * q.scale * q.task.kernel.cov(p, &q.task.pts[i])
	}
	return ln
}

// addNoise adds to what each draw says of ln step time the process, further
// variance and a new run.
func (q *posterior) addNoise(process, further float64, of []float64) {
	for d := range of {
		s := q.scales[d]
		of[d] += math.Sqrt(s*s*process+further)*q.gauss[d] + q.fresh*q.noise[d]
	}
}

// estimate returns the step time in seconds from draws of its logarithm. It
// reorders the draws.
func (q *posterior) estimate(of []float64) (e data.Estimate, median float64) {
	e = quantiles(of)
	median = quantile.Sorted(of, .5)
	e.Lo = min(median*math.Pow(e.Lo/median, q.caution), e.Mean)
	e.Hi = max(median*math.Pow(e.Hi/median, q.caution), e.Mean)
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

// density is the predictive density of ln step time.
func (q *posterior) density(p *form.Point, ln float64) float64 {
	of := make([]float64, draws)
	process := q.spread(p, nil, of)
	var sum float64
	for d, v := range of {
		s := q.scales[d]
		// The sum of a normal and a t variate, as a t of their scale.
		t := distuv.StudentsT{Mu: v, Sigma: math.Hypot(s*math.Sqrt(process), q.fresh), Nu: q.tail}
		sum += t.Prob(ln) / draws
	}
	return sum
}

// parameters returns those of best, the curve at the mode, for a GPU type,
// with intervals from the draws.
func (q *posterior) parameters(best form.Curve, t int) []form.Param {
	ps := form.ParamsOf(best, t)
	values := make([][]float64, len(ps))
	for _, c := range q.drawn {
		for i, p := range form.ParamsOf(c, t) {
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
