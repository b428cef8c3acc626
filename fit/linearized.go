package fit

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// linearized is a form linearised around some parameters: what its residuals
// and their derivatives are before the covariance of the measurements is
// known. Under different covariances of step and compute times, much is
// shared: see block.
type linearized struct {
	r       []float64  // residuals of step times, compute times and the prior
	j       *mat.Dense // their derivatives, one row each
	steps   int
	compute int
	prior   block
}

// linearize takes the derivatives at theta.
func (l *layout) linearize(f form, theta []float64) *linearized {
	plain := &observations{pts: l.pts, step: l.step, compute: l.compute} // no factors: nothing is whitened
	p := f.prior()
	pr := plain.problem(f, p, p.sd)
	z := &linearized{r: make([]float64, pr.Rows), j: mat.NewDense(pr.Rows, pr.Params, nil), steps: len(l.step.rows), compute: len(l.compute.rows)}
	pr.Residuals(theta, z.r)
	pr.Jacobian(theta, z.j)
	z.prior = z.part(z.steps+z.compute, pr.Rows, whitening{}, 0)
	return z
}

// block is one kind of observations of a linearised form, whitened: the sums
// that least squares together with other blocks needs.
type block struct {
	r      []float64
	j      *mat.Dense    // nil without rows
	gram   *mat.SymDense // JᵀJ
	grad   *mat.VecDense // Jᵀr
	square float64       // rᵀr
	lnDet  float64       // of the factor of the covariance, as often as the rows count
}

// part whitens rows from to to, which count weight times in the density.
func (z *linearized) part(from, to int, w whitening, weight float64) block {
	n := z.j.RawMatrix().Cols
	s := block{r: append([]float64(nil), z.r[from:to]...), gram: mat.NewSymDense(n, nil), grad: mat.NewVecDense(n, nil)}
	if from == to {
		return s
	}
	s.j = mat.DenseCopyOf(z.j.Slice(from, to, 0, n))
	if w.lower != nil {
		w.whiten(s.r)
		w.whitenRows(s.j, 0, to-from, 1)
		for i := range s.r {
			s.lnDet += weight * math.Log(w.lower.At(i, i))
		}
	}
	s.gram.SymOuterK(1, s.j.T())
	s.grad.MulVec(s.j.T(), mat.NewVecDense(len(s.r), s.r))
	s.square = blas64.Dot(vector(s.r), vector(s.r))
	return s
}

// stepBlock is the block of the step times with what leaving one out needs.
type stepBlock struct {
	block
	ln       []float64
	back     blas64.General // L⁻ᵀJ
	pull     []float64      // L⁻ᵀr
	diagonal []float64      // of K⁻¹
}

func (z *linearized) stepBlock(w whitening) (*stepBlock, bool) {
	s := &stepBlock{block: z.part(0, z.steps, w, 1), ln: w.ln, diagonal: make([]float64, z.steps)}
	lower := w.lower.RawTriangular()
	s.back = mat.DenseCopyOf(s.j).RawMatrix()
	blas64.Trsm(blas.Left, blas.Trans, 1, lower, s.back)
	s.pull = append([]float64(nil), s.r...)
	blas64.Trsv(blas.Trans, lower, vector(s.pull))
	inverse := mat.NewTriDense(z.steps, mat.Lower, nil)
	inverse.Copy(w.lower)
	inv := inverse.RawTriangular()
	if !lapack64.Trtri(inv) {
		return nil, false
	}
	for k := range z.steps { // column sums of squares, row by row
		for i, v := range inv.Data[k*inv.Stride : k*inv.Stride+k+1] {
			s.diagonal[i] += v * v
		}
	}
	return s, true
}

func (z *linearized) computeBlock(w whitening) block {
	return z.part(z.steps, z.steps+z.compute, w, computeWeight*computeWeight)
}

// fusion is the least-squares solution of several blocks together.
type fusion struct {
	step     *stepBlock
	chol     mat.Cholesky // of A, the sum of JᵀJ
	delta    mat.VecDense // A⁻¹Jᵀr: the optimum is this much below the parameters
	evidence float64      // log marginal density of the observations, up to a constant
}

func (z *linearized) fuse(step *stepBlock, compute *block) (*fusion, bool) {
	u := &fusion{step: step}
	n := z.prior.gram.SymmetricDim()
	a, g := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	var square float64
	for _, s := range []*block{&step.block, compute, &z.prior} {
		a.AddSym(a, s.gram)
		g.AddVec(g, s.grad)
		square += s.square
		u.evidence -= s.lnDet
	}
	if !u.chol.Factorize(a) || u.chol.SolveVecTo(&u.delta, g) != nil {
		return nil, false
	}
	u.evidence -= (square - mat.Dot(g, &u.delta) + u.chol.LogDet()) / 2
	return u, true
}

// leaveOneOut returns the mean and sd of ln step time of every measurement
// as predicted from all the others (Sundararajan and Keerthi, "Predictive
// Approaches for Choosing Hyperparameters in Gaussian Processes", 2001), with
// the parameters of the linearised form integrated out over their prior and
// the observed compute times.
//
// With C = K + JΣJᵀ the prediction of row i misses it by [C⁻¹r]ᵢ/[C⁻¹]ᵢᵢ and
// has the variance 1/[C⁻¹]ᵢᵢ. Woodbury's identity gives both from L⁻¹, LLᵀ = K.
func (u *fusion) leaveOneOut() (mean, sd []float64) {
	s := u.step
	n, p := s.back.Rows, s.back.Cols
	// C⁻¹(y − f(prior)) is L⁻ᵀ times minus the whitened residual at the optimum.
	pull := append([]float64(nil), s.pull...)
	blas64.Gemv(blas.NoTrans, 1, s.back, vector(u.delta.RawVector().Data), -1, vector(pull))
	// The diagonal of C⁻¹ = L⁻ᵀ(I − JA⁻¹Jᵀ)L⁻¹; A = UᵀU, so A⁻¹ = U⁻¹U⁻ᵀ.
	var upper mat.TriDense
	u.chol.UTo(&upper)
	rows := general(n, p)
	copy(rows.Data, s.back.Data)
	blas64.Trsm(blas.Right, blas.NoTrans, 1, upper.RawTriangular(), rows)
	mean, sd = make([]float64, n), make([]float64, n)
	for i := range n {
		row := vector(rows.Data[i*p : i*p+p])
		precision := math.Max(s.diagonal[i]-blas64.Dot(row, row), 1e-9)
		mean[i] = s.ln[i] - pull[i]/precision
		sd[i] = 1 / math.Sqrt(precision)
	}
	return mean, sd
}
