package speed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/leastsq"
)

// observed is a set of rows with the covariance of the residuals of a form.
// Step times and compute times are taken to be independent.
type observed struct {
	rows    []row
	pts     []form.Point
	kernel  *kernel
	ln      []float64 // ln step times, then ln compute times
	compute []int     // rows whose compute time is known
	step    *mat.SymDense
	micro   *gp.Factor // of the covariance of the compute times, noise included; nil without
}

func observe(rows []row, pts []form.Point, k *kernel) (*observed, error) {
	o := &observed{rows: rows, pts: pts, kernel: k, step: covariance(pts, k.cov)}
	var lnCompute []float64
	var timed []form.Point
	for i := range rows {
		o.ln = append(o.ln, math.Log(rows[i].StepTime))
		if c, ok := rows[i].lnCompute(); ok {
			o.compute, timed = append(o.compute, i), append(timed, pts[i])
			lnCompute = append(lnCompute, c)
		}
	}
	o.ln = append(o.ln, lnCompute...)
	if timed == nil {
		return o, nil
	}
	var err error
	noise := make([]float64, len(timed))
	for a := range noise {
		r := &o.rows[o.compute[a]]
		noise[a] = sq(k.Noise) + r.se2 + r.inflated
	}
	o.micro, err = gp.FactorizeNoisy(covariance(timed, k.computeCov), 1, noise)
	return o, err
}

func covariance(pts []form.Point, cov func(a, b *form.Point) float64) *mat.SymDense {
	k := mat.NewSymDense(len(pts), nil)
	for i := range pts {
		for j := range i + 1 {
			k.SetSym(i, j, cov(&pts[i], &pts[j]))
		}
	}
	return k
}

// noise returns the variances of the noise of the step times, scaled by a factor.
func (o *observed) noise(factor float64) []float64 {
	v := make([]float64, len(o.rows))
	for i := range v {
		r := &o.rows[i]
		v[i] = sq(factor*o.kernel.Noise) + o.runVariance(r, factor)/r.runs + r.se2 + r.inflated
	}
	return v
}

// whiten factorises the covariance of the step times, with process and noise
// scaled by factors.
func (o *observed) whiten(scale, noise float64) (*gp.Factor, error) {
	return gp.FactorizeNoisy(o.step, scale*scale, o.noise(noise))
}

// runVariance is the variance of ln step time between runs of one
// configuration: the prior, an inverse χ² distribution with the degrees of
// freedom of a new run's t distribution, updated by repeated runs. Noise is scaled by a
// factor.
func (o *observed) runVariance(r *row, factor float64) float64 {
	return (o.kernel.tail*sq(factor*o.kernel.Noise) + r.within) / (o.kernel.tail + r.freedom)
}

// repeats is the log density, up to a constant, of how repeated runs differ.
func (o *observed) repeats(factor float64) (ln float64) {
	for i := range o.rows {
		if r := &o.rows[i]; r.freedom > 0 {
			ln += o.kernel.tail*math.Log(factor) - (o.kernel.tail+r.freedom)/2*math.Log(o.kernel.tail*sq(factor*o.kernel.Noise)+r.within)
		}
	}
	return ln
}

func sq(x float64) float64 { return x * x }

// task is a form with its prior and observations.
type task struct {
	*observed
	form   form.Form
	coords *coordinates
	links  []link
}

// residuals fills r with predicted minus observed, not whitened.
func (t *task) residuals(z, r []float64) {
	c := t.form.Bind(t.coords.theta(z))
	next := len(t.pts)
	for i := range t.pts {
		step, compute := c.LogTimes(&t.pts[i])
		r[i] = step - t.ln[i]
		if next < len(t.ln) && t.compute[next-len(t.pts)] == i {
			r[next] = compute - t.ln[next]
			next++
		}
	}
}

// beliefs fills r with the residuals of the prior: the coordinates, which are
// standard normal, and the links.
func (t *task) beliefs(z, r []float64) {
	copy(r, z)
	if t.links != nil {
		theta := t.coords.theta(z)
		for i, l := range t.links {
			r[len(z)+i] = (theta[l.intra] + theta[l.inter] - l.sum) / achievedSD
		}
	}
}

// jacobian fills j, which is zero before, with the derivatives of residuals by
// z.
func (t *task) jacobian(z []float64, j *mat.Dense) {
	theta := t.coords.theta(z)
	gradient := t.form.Gradient(theta)
	compute := make([]float64, len(z))
	next := len(t.pts)
	for i := range t.pts {
		row := j.RawRowView(i)
		clear(compute)
		gradient(&t.pts[i], row, compute)
		t.coords.pull(theta, row)
		if next < len(t.ln) && t.compute[next-len(t.pts)] == i {
			copy(j.RawRowView(next), compute)
			t.coords.pull(theta, j.RawRowView(next))
			next++
		}
	}
}

// problem is the least-squares problem of the posterior's mode: whitened
// residuals and those of the prior.
func (t *task) problem(w *gp.Factor) leastsq.Problem {
	n, p, steps := len(t.ln), t.coords.len(), len(t.pts)
	return leastsq.Problem{
		Params: p, Rows: n + p + len(t.links),
		Residuals: func(z, r []float64) {
			t.residuals(z, r)
			w.Whiten(r[:steps])
			if t.micro != nil {
				t.micro.Whiten(r[steps:n])
			}
			t.beliefs(z, r[n:])
		},
		Jacobian: func(z []float64, j *mat.Dense) {
			j.Zero()
			top := j.Slice(0, n, 0, p).(*mat.Dense)
			t.jacobian(z, top)
			w.WhitenRows(top.Slice(0, steps, 0, p).(*mat.Dense).RawMatrix())
			if t.micro != nil {
				t.micro.WhitenRows(top.Slice(steps, n, 0, p).(*mat.Dense).RawMatrix())
			}
			for i := range p {
				j.Set(n+i, i, 1)
			}
			for i, l := range t.links {
				row := j.RawRowView(n + p + i)
				row[l.intra], row[l.inter] = 1./achievedSD, 1./achievedSD
				t.coords.pull(t.coords.theta(z), row)
			}
		},
	}
}

// mode finds the mode of the posterior from the form's starts, or from start if
// given.
func (t *task) mode(w *gp.Factor, start []float64) leastsq.Result {
	starts := t.coords.starts(t.form)
	if start != nil {
		starts = [][]float64{start}
	}
	var best leastsq.Result
	for i, x0 := range starts {
		r := leastsq.Minimize(t.problem(w), x0, leastsq.Settings{Tolerance: 1e-7})
		if i == 0 || r.Cost < best.Cost {
			best = r
		}
	}
	return best
}

// linearized is the form linearised at the mode: residuals of the step times of
// e + J·x, with x standard normal given the compute times.
type linearized struct {
	j *mat.Dense
	e []float64
}

// linearize linearises the form at z.
func (t *task) linearize(z []float64) (linearized, error) {
	n, p := len(t.pts), len(z)
	j, e := mat.NewDense(len(t.ln), p, nil), make([]float64, len(t.ln))
	t.residuals(z, e)
	t.jacobian(z, j)
	blas64.Gemv(blas.NoTrans, -1, j.RawMatrix(), vec(z), 1, vec(e))
	if t.micro == nil {
		return linearized{j, e}, nil
	}
	// The compute times change the precision of x to 1 + CᵀC = LLᵀ and its mean
	// to −L⁻ᵀL⁻¹Cᵀe. Coordinates in which it is standard normal have J·L⁻ᵀ.
	compute := j.Slice(n, len(e), 0, p).(*mat.Dense)
	t.micro.WhitenRows(compute.RawMatrix())
	t.micro.Whiten(e[n:])
	f, shift, err := normal(compute, e[n:])
	if err != nil {
		return linearized{}, err
	}
	across := mat.DenseCopyOf(j.Slice(0, n, 0, p).T())
	f.WhitenRows(across.RawMatrix())
	j, e = mat.DenseCopyOf(across.T()), e[:n]
	blas64.Gemv(blas.NoTrans, -1, j.RawMatrix(), vec(shift), 1, vec(e))
	return linearized{j, e}, nil
}

// normal returns the Cholesky factor L of 1 + JᵀJ, and L⁻¹Jᵀe.
func normal(j *mat.Dense, e []float64) (*gp.Factor, []float64, error) {
	_, p := j.Dims()
	a := mat.NewSymDense(p, nil)
	a.SymOuterK(1, j.T())
	for i := range p {
		a.SetSym(i, i, a.At(i, i)+1)
	}
	f, err := gp.Factorize(a)
	if err != nil {
		return nil, nil, err
	}
	g := make([]float64, p)
	blas64.Gemv(blas.Trans, 1, j.RawMatrix(), vec(e), 0, vec(g))
	f.Whiten(g)
	return f, g, nil
}

// evidence is the log marginal density of the step times given the compute
// times, up to a constant, under the covariance with factor w; −Inf on
// numerical failure.
func (l linearized) evidence(w *gp.Factor) float64 {
	j, e := mat.DenseCopyOf(l.j), slices.Clone(l.e)
	w.WhitenRows(j.RawMatrix())
	w.Whiten(e)
	f, g, err := normal(j, e)
	if err != nil {
		return math.Inf(-1)
	}
	// Woodbury's identity and the matrix determinant lemma.
	return -(w.LogDet() + f.LogDet() + blas64.Dot(vec(e), vec(e)) - blas64.Dot(vec(g), vec(g))) / 2
}

func vec(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }
