package fit

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// leaveOneOut returns the mean and sd of ln step time of every measurement
// as predicted from all the others (Sundararajan and Keerthi, "Predictive
// Approaches for Choosing Hyperparameters in Gaussian Processes", 2001), with
// the form linearised around theta and its parameters integrated out over
// their prior and the observed compute times.
//
// With C = K + JΣJᵀ the prediction of row i misses it by [C⁻¹r]ᵢ/[C⁻¹]ᵢᵢ and
// has the variance 1/[C⁻¹]ᵢᵢ. Woodbury's identity gives both from L⁻¹, LLᵀ = K.
func (o *observations) leaveOneOut(f form, theta []float64) (mean, sd []float64, ok bool) {
	p := f.prior()
	pr := o.problem(f, p, p.sd)
	n := len(o.step.rows)
	r, j := make([]float64, pr.Rows), mat.NewDense(pr.Rows, pr.Params, nil)
	pr.Residuals(theta, r)
	pr.Jacobian(theta, j)
	var chol mat.Cholesky
	a := mat.NewSymDense(pr.Params, nil)
	a.SymOuterK(1, j.T())
	if !chol.Factorize(a) {
		return nil, nil, false
	}
	// δ moves the parameters from theta to the optimum of the linearised
	// problem; C⁻¹(y − f(prior)) is then L⁻ᵀ times minus the whitened residual there.
	var g, delta mat.VecDense
	g.MulVec(j.T(), mat.NewVecDense(len(r), r))
	if chol.SolveVecTo(&delta, &g) != nil {
		return nil, nil, false
	}
	var moved mat.VecDense
	moved.MulVec(j.Slice(0, n, 0, pr.Params), &delta)
	pull := make([]float64, n)
	for i := range pull {
		pull[i] = moved.AtVec(i) - r[i]
	}
	lower := o.step.lower.RawTriangular()
	blas64.Trsv(blas.Trans, lower, vector(pull))
	precision, ok := o.precisions(&chol, j)
	mean, sd = make([]float64, n), make([]float64, n)
	for i := range n {
		mean[i] = o.step.ln[i] - pull[i]/precision[i]
		sd[i] = 1 / math.Sqrt(precision[i])
	}
	return mean, sd, ok
}

// precisions returns the diagonal of C⁻¹ = L⁻ᵀ(I − JA⁻¹Jᵀ)L⁻¹ with the
// whitened Jacobian J and A = JᵀJ over all rows, prior included.
func (o *observations) precisions(chol *mat.Cholesky, j *mat.Dense) ([]float64, bool) {
	n, np := len(o.step.rows), chol.SymmetricDim()
	inverse := mat.NewTriDense(n, mat.Lower, nil)
	inverse.Copy(o.step.lower)
	if !lapack64.Trtri(inverse.RawTriangular()) {
		return make([]float64, n), false
	}
	// L⁻ᵀJ, then each row through the factor of A.
	back := mat.DenseCopyOf(j.Slice(0, n, 0, np)).RawMatrix()
	blas64.Trsm(blas.Left, blas.Trans, 1, o.step.lower.RawTriangular(), back)
	var upper mat.TriDense
	chol.UTo(&upper) // A = UᵀU, so A⁻¹ = U⁻¹U⁻ᵀ
	blas64.Trsm(blas.Right, blas.NoTrans, 1, upper.RawTriangular(), back)
	d := make([]float64, n)
	inv := inverse.RawTriangular()
	for k := range n { // column sums of squares, row by row
		for i, v := range inv.Data[k*inv.Stride : k*inv.Stride+k+1] {
			d[i] += v * v
		}
	}
	for i := range d {
		row := vector(back.Data[i*back.Stride : i*back.Stride+np])
		d[i] = math.Max(d[i]-blas64.Dot(row, row), 1e-9)
	}
	return d, true
}
