package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/internal/leastsq"
)

// computeWeight is how much an observed compute time counts beside an
// observed step time. It shares the step's noise, so it counts less.
const computeWeight = .7

// plainNoise is the sd of ln step time assumed while fitting a family
// without a process: what a good fit of a published family leaves over.
const plainNoise = .1

// whitening is a set of observations with their covariance factorized.
type whitening struct {
	rows  []int // indices into the points
	ln    []float64
	lower *mat.TriDense // LLᵀ = K; nil leaves residuals as they are
}

// observations are what a fit is held against.
type observations struct {
	pts     []point
	step    whitening
	compute whitening
}

// layout is a set of measurements with the covariance of what a form leaves
// over, before the part that belongs to each row alone.
type layout struct {
	ms            []data.Measurement
	pts           []point
	kernel        kernel
	step, compute whitening // without factors
	cov           [2]*mat.SymDense
}

func layOut(ms []data.Measurement, pts []point, k kernel) *layout {
	l := &layout{ms: ms, pts: pts, kernel: k}
	for i, m := range ms {
		l.step.rows = append(l.step.rows, i)
		l.step.ln = append(l.step.ln, math.Log(m.StepTime))
		if t, ok := computeTime(m); ok && m.SyncTime > 0 {
			l.compute.rows = append(l.compute.rows, i)
			l.compute.ln = append(l.compute.ln, math.Log(t))
		}
	}
	l.cov[0] = covariance(pts, l.step.rows, k.cov)
	l.cov[1] = covariance(pts, l.compute.rows, k.computeCov)
	return l
}

func covariance(pts []point, rows []int, cov func(a, b *point) float64) *mat.SymDense {
	if len(rows) == 0 {
		return nil
	}
	k := mat.NewSymDense(len(rows), nil)
	for a := range rows {
		for b := range a + 1 {
			k.SetSym(a, b, cov(&pts[rows[a]], &pts[rows[b]]))
		}
	}
	return k
}

// observe factorizes the covariance of the measurements under a spread;
// noise is the own sd where the kernel leaves it to be estimated.
func (l *layout) observe(s spread, noise float64) (*observations, error) {
	step, ok1 := l.stepUnder(s, noise)
	compute, ok2 := l.computeUnder(s, noise)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("fit: the covariance of %d measurements is not positive definite", len(l.ms))
	}
	return &observations{pts: l.pts, step: step, compute: compute}, nil
}

// stepUnder is observe for the step times alone.
func (l *layout) stepUnder(s spread, noise float64) (whitening, bool) {
	w := l.step
	own, _ := l.kernel.own()
	row := func(i int) float64 { return s.row(own, s.Scale, l.pts[i].runs) }
	if own == 0 {
		row = func(int) float64 { return noise * noise }
	}
	ok := w.factorize(l.cov[0], func(i int) float64 { return row(i) + relVariance(l.ms[i]) })
	return w, ok
}

// computeUnder is observe for the compute times alone.
func (l *layout) computeUnder(s spread, noise float64) (whitening, bool) {
	w := l.compute
	own, ownCompute := l.kernel.own()
	sd := s.timers() * ownCompute
	if own == 0 {
		sd = noise
	}
	ok := w.factorize(l.cov[1], func(i int) float64 { return sd*sd + relVariance(l.ms[i]) })
	return w, ok
}

// factorize adds the rows' own variances to cov and keeps the Cholesky factor.
func (w *whitening) factorize(cov *mat.SymDense, own func(row int) float64) bool {
	if len(w.rows) == 0 {
		return true
	}
	k := mat.NewSymDense(len(w.rows), nil)
	k.CopySym(cov)
	for a, i := range w.rows {
		k.SetSym(a, a, k.At(a, a)+own(i))
	}
	var chol mat.Cholesky
	if !chol.Factorize(k) {
		return false
	}
	w.lower = mat.NewTriDense(len(w.rows), mat.Lower, nil)
	chol.LTo(w.lower)
	return true
}

// whiten replaces r by L⁻¹r.
func (w *whitening) whiten(r []float64) {
	if len(r) == 0 || w.lower == nil {
		return
	}
	blas64.Trsv(blas.NoTrans, w.lower.RawTriangular(), blas64.Vector{N: len(r), Data: r, Inc: 1})
}

// whitenRows replaces rows from to to of j by L⁻¹ of them, times weight.
func (w *whitening) whitenRows(j *mat.Dense, from, to int, weight float64) {
	if from == to {
		return
	}
	if w.lower == nil {
		part := j.Slice(from, to, 0, j.RawMatrix().Cols).(*mat.Dense)
		part.Scale(weight, part)
		return
	}
	part := j.Slice(from, to, 0, j.RawMatrix().Cols).(*mat.Dense).RawMatrix()
	blas64.Trsm(blas.Left, blas.NoTrans, weight, w.lower.RawTriangular(), part)
}

// residuals fills r with whitened residuals, compute times, then the prior's.
func (o *observations) residuals(f form, p prior, sd []float64, x, r []float64) {
	c := f.bind(x)
	n, nc := len(o.step.rows), len(o.compute.rows)
	comp := r[n : n+nc]
	next := 0
	for i := range o.pts {
		step, compute := c.logTimes(&o.pts[i])
		r[i] = step - o.step.ln[i]
		if next < nc && o.compute.rows[next] == i {
			comp[next] = compute - o.compute.ln[next]
			next++
		}
	}
	o.step.whiten(r[:n])
	o.compute.whiten(comp)
	for i := range comp {
		comp[i] *= computeWeight
	}
	for i := range x {
		r[n+nc+i] = (x[i] - p.mean[i]) / sd[i]
	}
}

// jacobian fills j with the derivatives of residuals.
func (o *observations) jacobian(f form, sd, x []float64, j *mat.Dense) {
	n, nc, np := len(o.step.rows), len(o.compute.rows), len(x)
	j.Zero()
	c := f.bind(x)
	compute := make([]float64, np)
	next := 0
	for i := range o.pts {
		gradient(f, c, x, &o.pts[i], j.RawRowView(i), compute)
		if next < nc && o.compute.rows[next] == i {
			copy(j.RawRowView(n+next), compute)
			next++
		}
	}
	o.step.whitenRows(j, 0, n, 1)
	o.compute.whitenRows(j, n, n+nc, computeWeight)
	for i := range x {
		j.Set(n+nc+i, i, 1/sd[i])
	}
}

// problem is the generalised least-squares problem of a form under a prior.
func (o *observations) problem(f form, p prior, sd []float64) leastsq.Problem {
	return leastsq.Problem{
		Params: len(p.mean), Rows: len(o.step.rows) + len(o.compute.rows) + len(p.mean),
		Residuals: func(x, r []float64) { o.residuals(f, p, sd, x, r) },
		Jacobian:  func(x []float64, j *mat.Dense) { o.jacobian(f, sd, x, j) },
	}
}

// solve finds the parameters of a form; status is empty if it converged.
// With start given it walks from there only: for refits on nearly the same rows.
func solve(f form, l *layout, s spread, start []float64) (theta []float64, status string, err error) {
	if lf, ok := f.(linearForm); ok {
		return solveLinear(lf, l.pts, l.ms)
	}
	o, err := l.observe(s, plainNoise)
	if err != nil {
		return nil, "", err
	}
	p := f.prior()
	starts := f.starts()
	if start != nil {
		starts = [][]float64{start}
	}
	var best leastsq.Result
	for i, x0 := range starts {
		r := leastsq.Minimize(o.problem(f, p, p.sd), x0, leastsq.Settings{Tolerance: 1e-7})
		if i == 0 || r.Cost < best.Cost {
			best = r
		}
	}
	if best.Status == leastsq.NotFinite {
		return nil, "", fmt.Errorf("fit family %s: %v", f.name(), best.Status)
	}
	if best.Status != leastsq.Converged {
		status = best.Status.String()
	}
	return best.X, status, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
