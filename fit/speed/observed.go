package speed

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/leastsq"
)

// observed is a set of rows with the covariance of the residuals of a form.
type observed struct {
	rows    []row
	pts     []form.Point
	kernel  *kernel
	ln      []float64 // ln step times, then ln compute times
	compute []int     // rows whose compute time is known
	step    *mat.SymDense
	micro   *mat.SymDense // nil without compute times
}

func observe(rows []row, pts []form.Point, k *kernel) *observed {
	o := &observed{rows: rows, pts: pts, kernel: k}
	var lnCompute []float64
	all := make([]int, len(rows))
	for i := range rows {
		all[i] = i
		o.ln = append(o.ln, math.Log(rows[i].StepTime))
		if c, ok := rows[i].lnCompute(); ok {
			o.compute = append(o.compute, i)
			lnCompute = append(lnCompute, c)
		}
	}
	o.ln = append(o.ln, lnCompute...)
	o.step = covariance(pts, all, k.cov)
	if len(o.compute) > 0 {
		o.micro = covariance(pts, o.compute, k.computeCov)
	}
	return o
}

func covariance(pts []form.Point, rows []int, cov func(a, b *form.Point) float64) *mat.SymDense {
	k := mat.NewSymDense(len(rows), nil)
	for a, i := range rows {
		for b, j := range rows[:a+1] {
			k.SetSym(a, b, cov(&pts[i], &pts[j]))
		}
	}
	return k
}

// whitening is the factorised covariance of the observations; step times and
// compute times are taken to be independent.
type whitening struct {
	step, micro *gp.Factor
	n           int // step times
}

// whiten factorises the covariance with process and noise scaled by factors.
func (o *observed) whiten(scale, noise float64) (*whitening, error) {
	w := &whitening{n: len(o.rows)}
	var err error
	if w.step, err = factorize(o.step, scale, func(a int) float64 {
		r := &o.rows[a]
		return noise*noise*(sq(o.kernel.Noise)+o.runVariance(r)/r.runs) + r.se2 + r.inflated
	}); err != nil || o.micro == nil {
		return w, err
	}
	w.micro, err = factorize(o.micro, 1, func(a int) float64 {
		r := &o.rows[o.compute[a]]
		return sq(o.kernel.Noise) + r.se2 + r.inflated
	})
	return w, err
}

// runVariance is the variance of ln step time between runs of one
// configuration: the prior, an inverse χ² distribution with the degrees of
// freedom of a new run's t distribution, updated by repeated runs.
func (o *observed) runVariance(r *row) float64 {
	return (o.kernel.tail*sq(o.kernel.Noise) + r.within) / (o.kernel.tail + r.freedom)
}

func sq(x float64) float64 { return x * x }

func factorize(k *mat.SymDense, scale float64, noise func(i int) float64) (*gp.Factor, error) {
	n := k.SymmetricDim()
	with := mat.NewSymDense(n, nil)
	with.ScaleSym(scale*scale, k)
	for i := range n {
		with.SetSym(i, i, with.At(i, i)+noise(i))
	}
	return gp.Factorize(with)
}

// vector replaces v by L⁻¹v.
func (w *whitening) vector(v []float64) {
	w.step.Whiten(v[:w.n])
	if w.micro != nil {
		w.micro.Whiten(v[w.n : w.n+w.micro.Len()])
	}
}

// matrix replaces m by L⁻¹m.
func (w *whitening) matrix(m *mat.Dense) {
	g := m.RawMatrix()
	part := func(from, n int) blas64.General {
		return blas64.General{Rows: n, Cols: g.Cols, Stride: g.Stride, Data: g.Data[from*g.Stride:]}
	}
	w.step.WhitenRows(part(0, w.n))
	if w.micro != nil {
		w.micro.WhitenRows(part(w.n, w.micro.Len()))
	}
}

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

// jacobian fills j with the derivatives of residuals by z.
func (t *task) jacobian(z []float64, j *mat.Dense) {
	theta := t.coords.theta(z)
	compute := make([]float64, len(z))
	next := len(t.pts)
	for i := range t.pts {
		row := j.RawRowView(i)
		clear(row)
		clear(compute)
		t.form.Gradient(theta, &t.pts[i], row, compute)
		t.coords.pull(row)
		if next < len(t.ln) && t.compute[next-len(t.pts)] == i {
			copy(j.RawRowView(next), compute)
			t.coords.pull(j.RawRowView(next))
			next++
		}
	}
}

// problem is the least-squares problem of the posterior's mode: whitened
// residuals and those of the prior.
func (t *task) problem(w *whitening) leastsq.Problem {
	n, p := len(t.ln), t.coords.len()
	return leastsq.Problem{
		Params: p, Rows: n + p + len(t.links),
		Residuals: func(z, r []float64) {
			t.residuals(z, r)
			w.vector(r[:n])
			t.beliefs(z, r[n:])
		},
		Jacobian: func(z []float64, j *mat.Dense) {
			j.Zero()
			top := j.Slice(0, n, 0, p).(*mat.Dense)
			t.jacobian(z, top)
			w.matrix(top)
			for i := range p {
				j.Set(n+i, i, 1)
			}
			for i, l := range t.links {
				row := j.RawRowView(n + p + i)
				row[l.intra], row[l.inter] = 1./achievedSD, 1./achievedSD
				t.coords.pull(row)
			}
		},
	}
}

// mode finds the mode of the posterior from the form's starts, or from start if
// given.
func (t *task) mode(w *whitening, start []float64) leastsq.Result {
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

// evidence is the log marginal density of the step times given the compute
// times, up to a constant, with the form linearised at z and integrated out;
// −Inf on numerical failure.
func (t *task) evidence(w *whitening, z []float64) float64 {
	j, e := t.linearize(z)
	n, p := w.n, len(z)
	w.vector(e)
	w.matrix(j)
	if w.micro != nil && !knowCompute(j, e, w.n) {
		return math.Inf(-1)
	}
	e = e[:n]
	steps := j.Slice(0, n, 0, p).(*mat.Dense)
	g := mat.NewVecDense(p, nil)
	g.MulVec(steps.T(), mat.NewVecDense(n, e))
	a := mat.NewSymDense(p, nil)
	a.SymOuterK(1, steps.T())
	for i := range p {
		a.SetSym(i, i, a.At(i, i)+1)
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(a) || chol.SolveVecTo(&x, g) != nil {
		return math.Inf(-1)
	}
	// Woodbury's identity and the matrix determinant lemma.
	return -(w.step.LogDet() + chol.LogDet() + blas64.Dot(vec(e), vec(e)) - mat.Dot(g, &x)) / 2
}

// linearize returns the derivatives of the predictions at z, and the residuals
// of the linearised form at the prior mean.
func (t *task) linearize(z []float64) (j *mat.Dense, e []float64) {
	j, e = mat.NewDense(len(t.ln), len(z), nil), make([]float64, len(t.ln))
	t.residuals(z, e)
	t.jacobian(z, j)
	blas64.Gemv(blas.NoTrans, -1, j.RawMatrix(), vec(z), 1, vec(e))
	return j, e
}

// knowCompute conditions the standard normal prior of the coordinates on the
// compute times, the rows from n on, and changes coordinates so that the result
// is standard normal. It reports success.
func knowCompute(j *mat.Dense, e []float64, n int) bool {
	rows, p := j.Dims()
	compute, steps := j.Slice(n, rows, 0, p).(*mat.Dense), j.Slice(0, n, 0, p).(*mat.Dense)
	precision := mat.NewSymDense(p, nil)
	precision.SymOuterK(1, compute.T())
	for i := range p {
		precision.SetSym(i, i, precision.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(precision) {
		return false
	}
	shift := make([]float64, p)
	blas64.Gemv(blas.Trans, 1, compute.RawMatrix(), vec(e[n:]), 0, vec(shift))
	var mean mat.VecDense
	if chol.SolveVecTo(&mean, mat.NewVecDense(p, shift)) != nil {
		return false
	}
	blas64.Gemv(blas.NoTrans, -1, steps.RawMatrix(), mean.RawVector(), 1, vec(e[:n]))
	var upper mat.TriDense
	chol.UTo(&upper)
	blas64.Trsm(blas.Right, blas.NoTrans, 1, upper.RawTriangular(), steps.RawMatrix())
	return true
}

func vec(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }
