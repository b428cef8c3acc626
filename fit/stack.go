package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/internal/quantile"
)

// stack is a fitted form with everything a prediction needs computed once:
// the posterior draws, and the Gaussian process on what each draw leaves over.
type stack struct {
	form   form
	scale  scale
	theta  []float64
	best   curve
	pts    []point
	kernel kernel
	smooth bool          // the kernel has a process
	fresh  []float64     // sd of a new run beyond form and process: one for all draws, or one each
	lower  *mat.TriDense // LLᵀ = K, nil unless smooth
	weight []float64     // K⁻¹·residual of best, nil unless smooth
	drawn  []curve
	// weights holds K⁻¹·residual of every draw, one row per measurement, so
	// that all corrections are one matrix-vector product.
	weights blas64.General
	noise   []float64 // standard t variates, one per draw: for a new run
	gauss   []float64 // standard normal variates, one per draw: for the process
}

// newStack prepares predictions with intervals from fitted parameters.
func newStack(f form, s scale, theta []float64, l *layout, sp spread, seed uint64) (*stack, error) {
	st, o, err := newPointStack(f, s, theta, l, sp)
	if err != nil {
		return nil, err
	}
	// The interval is that of the likeliest spread, where the estimate kept
	// to the smallest that can be defended.
	if likely := sp.quantiles(1)[0]; st.smooth && likely > sp.Scale {
		sp.Scale = likely
		if o, err = l.observe(sp, 0); err != nil {
			return nil, err
		}
		st.lower = o.step.lower
	}
	if err := st.draw(o, seed); err != nil {
		return nil, err
	}
	if st.smooth {
		w := st.residualWeights(o, st.drawn)
		st.weights = w.RawMatrix()
	}
	return st, nil
}

// newPointStack prepares predictions without intervals, which is much less
// work: logStep is all that may be called.
func newPointStack(f form, s scale, theta []float64, l *layout, sp spread) (*stack, *observations, error) {
	k := l.kernel
	st := &stack{form: f, scale: s, theta: theta, best: f.bind(theta), pts: l.pts, kernel: k}
	own, _ := k.own()
	st.smooth = own > 0
	if !st.smooth {
		own = st.estimateNoise(l.ms)
		st.fresh = []float64{own}
	} else {
		for _, q := range sp.quantiles(draws) {
			st.fresh = append(st.fresh, sp.fresh(own, k.extra(), q))
		}
	}
	o, err := l.observe(sp, own)
	if err != nil {
		return nil, nil, err
	}
	if st.smooth {
		st.lower = o.step.lower
		st.weight = mat.Col(nil, 0, st.residualWeights(o, []curve{st.best}))
	}
	return st, o, nil
}

// estimateNoise is the spread of the residuals of a published family, not
// below 3 %: repeated runs differ by that much.
func (st *stack) estimateNoise(ms []data.Measurement) float64 {
	var sum float64
	for i := range ms {
		step, _ := st.best.logTimes(&st.pts[i])
		r := step - math.Log(ms[i].StepTime)
		sum += r * r
	}
	// One pseudo-observation of plainNoise stands for rows that a family
	// with as many parameters meets exactly.
	free := math.Max(float64(len(ms)-len(st.theta)), 0)
	return math.Max(math.Sqrt((sum+2*plainNoise*plainNoise)/(free+2)), .03)
}

// residualWeights solves K·w = residual for every curve, one column each.
func (st *stack) residualWeights(o *observations, curves []curve) *mat.Dense {
	w := mat.NewDense(len(st.pts), len(curves), nil)
	for d, c := range curves {
		for i := range st.pts {
			step, _ := c.logTimes(&st.pts[i])
			w.Set(i, d, o.step.ln[i]-step)
		}
	}
	l := o.step.lower.RawTriangular()
	blas64.Trsm(blas.Left, blas.NoTrans, 1, l, w.RawMatrix())
	blas64.Trsm(blas.Left, blas.Trans, 1, l, w.RawMatrix())
	return w
}

// logStep returns the best estimate of ln step time.
func (st *stack) logStep(p *point) float64 {
	step, _ := st.best.logTimes(p)
	if st.smooth {
		for i := range st.pts {
			step += st.weight[i] * st.kernel.cov(p, &st.pts[i])
		}
	}
	return step
}

// predict returns the step time in seconds with its 90 % interval; beyond is
// a further sd of its logarithm.
// With a memo given, it saves work that predictions of many points share.
func (st *stack) predict(p *point, beyond float64, shared *memo) data.Estimate {
	mean, _ := st.best.logTimes(p)
	variance := 0.0
	correction := make([]float64, draws)
	if st.smooth {
		k := make([]float64, len(st.pts))
		for i := range k {
			k[i] = st.kernel.cov(p, &st.pts[i])
			mean += st.weight[i] * k[i]
		}
		vec := blas64.Vector{N: len(k), Data: k, Inc: 1}
		blas64.Gemv(blas.Trans, 1, st.weights, vec, 0, blas64.Vector{N: draws, Data: correction, Inc: 1})
		blas64.Trsv(blas.NoTrans, st.lower.RawTriangular(), vec) // k becomes L⁻¹k
		variance = math.Max(st.kernel.cov(p, p)-blas64.Dot(vec, vec), 0)
	}
	variance += beyond * beyond
	shared.addSteps(st.drawn, p, correction)
	return st.interval(mean, variance, correction)
}

// interval returns the step time in seconds from the best estimate of its
// logarithm and from what each draw says of it, to which the process and a
// new run add their variance. It reorders the draws.
func (st *stack) interval(mean, variance float64, of []float64) data.Estimate {
	sd := math.Sqrt(variance)
	for d := range of {
		of[d] += sd*st.gauss[d] + st.fresh[d%len(st.fresh)]*st.noise[d]
	}
	lo, hi := quantile.Tails(of, .05)
	e := data.Estimate{Mean: math.Exp(mean)}
	e.Lo = math.Min(math.Exp(lo), e.Mean)
	e.Hi = math.Max(math.Exp(hi), e.Mean)
	return e
}

// parameters returns the parameters of the form with intervals from the draws.
func (st *stack) parameters() []Param {
	ps := st.best.params()
	values := make([][]float64, len(ps))
	for _, c := range st.drawn {
		for i, p := range c.params() {
			if i < len(values) {
				values[i] = append(values[i], p.Value.Mean)
			}
		}
	}
	for i := range ps {
		slices.Sort(values[i])
		v := &ps[i].Value
		v.Lo = math.Min(math.Max(quantile.Sorted(values[i], .05), 0), v.Mean)
		v.Hi = math.Max(quantile.Sorted(values[i], .95), v.Mean)
	}
	return ps
}
