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
	lower *mat.TriDense // LLᵀ = K
}

// observations are what a fit is held against.
type observations struct {
	pts     []point
	step    whitening
	compute whitening
}

// observe collects the observations of rows under a kernel; noise is the own
// sd where the kernel leaves it to be estimated.
func observe(ms []data.Measurement, pts []point, k kernel, noise float64) (*observations, error) {
	o := &observations{pts: pts}
	for i, m := range ms {
		o.step.rows = append(o.step.rows, i)
		o.step.ln = append(o.step.ln, math.Log(m.StepTime))
		if t, ok := computeTime(m); ok && m.SyncTime > 0 {
			o.compute.rows = append(o.compute.rows, i)
			o.compute.ln = append(o.compute.ln, math.Log(t))
		}
	}
	own, ownCompute := k.own()
	if own == 0 {
		own, ownCompute = noise, noise
	}
	var ok1, ok2 bool
	o.step.lower, ok1 = factor(pts, o.step.rows, k.cov, func(i int) float64 { return own*own + relVariance(ms[i]) })
	o.compute.lower, ok2 = factor(pts, o.compute.rows, k.computeCov, func(i int) float64 {
		return ownCompute*ownCompute + relVariance(ms[i])
	})
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("fit: the covariance of %d measurements is not positive definite", len(ms))
	}
	return o, nil
}

// factor returns the lower Cholesky factor of the covariance of some points.
func factor(pts []point, rows []int, cov func(a, b *point) float64, own func(int) float64) (*mat.TriDense, bool) {
	n := len(rows)
	if n == 0 {
		return nil, true
	}
	k := mat.NewSymDense(n, nil)
	for a := range n {
		for b := range a {
			k.SetSym(a, b, cov(&pts[rows[a]], &pts[rows[b]]))
		}
		k.SetSym(a, a, cov(&pts[rows[a]], &pts[rows[a]])+own(rows[a]))
	}
	var chol mat.Cholesky
	if !chol.Factorize(k) {
		return nil, false
	}
	l := mat.NewTriDense(n, mat.Lower, nil)
	chol.LTo(l)
	return l, true
}

// whiten replaces r by L⁻¹r.
func (w *whitening) whiten(r []float64) {
	if len(r) == 0 {
		return
	}
	blas64.Trsv(blas.NoTrans, w.lower.RawTriangular(), blas64.Vector{N: len(r), Data: r, Inc: 1})
}

// whitenRows replaces rows from to to of j by L⁻¹ of them, times weight.
func (w *whitening) whitenRows(j *mat.Dense, from, to int, weight float64) {
	if from == to {
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
func solve(f form, ms []data.Measurement, pts []point, start []float64) (theta []float64, status string, err error) {
	if lf, ok := f.(linearForm); ok {
		return solveLinear(lf, pts, ms)
	}
	o, err := observe(ms, pts, f.kernel(), plainNoise)
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
