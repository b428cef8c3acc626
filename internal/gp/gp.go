// Package gp is the part of Gaussian processes that does not depend on the
// kernel: the factorised covariance of the observations.
package gp

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// ErrIndefinite is the error of a covariance that is not positive definite
// even with jitter.
var ErrIndefinite = errors.New("gaussian process: the covariance is not positive definite")

// Factor is the Cholesky factor L of a covariance K = LLᵀ of n observations.
// It is immutable and safe for concurrent use.
type Factor struct {
	lower *mat.TriDense
	n     int
}

// Factorize factorises a covariance. Where rounding has made it indefinite it
// adds jitter to the diagonal, at most a millionth of its mean.
func Factorize(k *mat.SymDense) (*Factor, error) {
	return FactorizeNoisy(k, 1, make([]float64, k.SymmetricDim()))
}

// FactorizeNoisy factorises scale·k plus the variances of noise on its diagonal.
func FactorizeNoisy(k *mat.SymDense, scale float64, noise []float64) (*Factor, error) {
	n := k.SymmetricDim()
	if lower, ok := cholesky(k, scale, noise, 0); ok {
		return &Factor{lower, n}, nil
	}
	mean := scale * mat.Trace(k) / float64(n)
	for _, v := range noise {
		mean += v / float64(n)
	}
	if !math.IsNaN(mean) && !math.IsInf(mean, 0) {
		for jitter := 1e-12; jitter <= 1e-6; jitter *= 100 {
			if lower, ok := cholesky(k, scale, noise, jitter*mean); ok {
				return &Factor{lower, n}, nil
			}
		}
	}
	return nil, ErrIndefinite
}

// cholesky returns the factor of scale·k with noise and jitter added to the
// diagonal. Unlike [mat.Cholesky] it does not estimate the condition number, which
// for small matrices takes longer.
func cholesky(k *mat.SymDense, scale float64, noise []float64, jitter float64) (lower *mat.TriDense, ok bool) {
	upper := k.RawSymmetric()
	n := upper.N
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = scale * upper.Data[j*upper.Stride+i]
		}
		a[i*n+i] += noise[i] + jitter
	}
	_, ok = lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: a})
	return mat.NewTriDense(n, mat.Lower, a), ok
}

// LogDiagonal returns ln L_ii: half of what observation i adds to ln |K|.
func (f *Factor) LogDiagonal(i int) float64 { return math.Log(f.lower.At(i, i)) }

// LogDet returns ln |K|.
func (f *Factor) LogDet() float64 {
	var s float64
	for i := range f.n {
		s += f.LogDiagonal(i)
	}
	return 2 * s
}

// Whiten replaces v, of length n, by L⁻¹v.
func (f *Factor) Whiten(v []float64) {
	blas64.Trsv(blas.NoTrans, f.lower.RawTriangular(), blas64.Vector{N: len(v), Data: v, Inc: 1})
}

// WhitenTransposed replaces v, of length n, by L⁻ᵀv: a standard normal sample by
// one of covariance K⁻¹.
func (f *Factor) WhitenTransposed(v []float64) {
	blas64.Trsv(blas.Trans, f.lower.RawTriangular(), blas64.Vector{N: len(v), Data: v, Inc: 1})
}

// WhitenRows replaces m, of n rows, by L⁻¹m.
func (f *Factor) WhitenRows(m blas64.General) {
	blas64.Trsm(blas.Left, blas.NoTrans, 1, f.lower.RawTriangular(), m)
}

// Solve replaces m, of n rows, by K⁻¹m.
func (f *Factor) Solve(m blas64.General) {
	f.WhitenRows(m)
	blas64.Trsm(blas.Left, blas.Trans, 1, f.lower.RawTriangular(), m)
}

// LeaveOneOut returns, for each observation, by how much it exceeds its prediction
// from all others, and the standard deviation of that prediction, with the noise of
// the observation. residual is the observations minus the prior mean. (Rasmussen
// and Williams, "Gaussian Processes for Machine Learning", 2006, equation 5.12.)
func (f *Factor) LeaveOneOut(residual []float64) (miss, sd []float64) {
	inverse := mat.NewDense(f.n, f.n, nil)
	for i := range f.n {
		inverse.Set(i, i, 1)
	}
	f.WhitenRows(inverse.RawMatrix()) // L⁻¹, whose columns' squares are the diagonal of K⁻¹
	w := append([]float64(nil), residual...)
	f.Whiten(w)
	miss, sd = make([]float64, f.n), make([]float64, f.n)
	for k := range f.n {
		row := inverse.RawRowView(k)
		for i := range k + 1 {
			sd[i] += row[i] * row[i]
			miss[i] += row[i] * w[k]
		}
	}
	for i := range sd {
		miss[i] /= sd[i]
		sd[i] = 1 / math.Sqrt(sd[i])
	}
	return miss, sd
}
