package gp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// covariance is that of n random points under a squared exponential kernel
// with noise.
func covariance(n int) *mat.SymDense {
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]float64, n)
	for i := range x {
		x[i] = 3 * rng.Float64()
	}
	k := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			k.SetSym(i, j, math.Exp(-.5*(x[i]-x[j])*(x[i]-x[j])))
		}
		k.SetSym(i, i, 1.1)
	}
	return k
}

// Leaving each observation out in turn gives the same predictions.
func TestLeaveOneOut(t *testing.T) {
	const n = 6
	k := covariance(n)
	y := []float64{1, -1, .5, 2, 0, .3}
	f, err := Factorize(k)
	if err != nil {
		t.Fatal(err)
	}
	miss, sd := f.LeaveOneOut(y)
	for out := range n {
		var rest []int
		for i := range n {
			if i != out {
				rest = append(rest, i)
			}
		}
		part, to, known := mat.NewSymDense(n-1, nil), mat.NewVecDense(n-1, nil), mat.NewVecDense(n-1, nil)
		for a, i := range rest {
			for b, j := range rest {
				part.SetSym(a, b, k.At(i, j))
			}
			to.SetVec(a, k.At(i, out))
			known.SetVec(a, y[i])
		}
		var w, v mat.VecDense
		if w.SolveVec(part, known) != nil || v.SolveVec(part, to) != nil {
			t.Fatal("singular")
		}
		mean, variance := mat.Dot(to, &w), k.At(out, out)-mat.Dot(to, &v)
		if math.Abs(miss[out]-(y[out]-mean)) > 1e-9 || math.Abs(sd[out]-math.Sqrt(variance)) > 1e-9 {
			t.Errorf("%d: off by %g ± %g, want %g ± %g", out, miss[out], sd[out], y[out]-mean, math.Sqrt(variance))
		}
	}
}

// Scale and noise are parts of the matrix.
func TestFactorizeNoisy(t *testing.T) {
	k := covariance(4)
	noise := []float64{.1, .2, .3, .4}
	sum := mat.NewSymDense(4, nil)
	sum.ScaleSym(2, k)
	for i, v := range noise {
		sum.SetSym(i, i, sum.At(i, i)+v)
	}
	want, err := Factorize(sum)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FactorizeNoisy(k, 2, noise)
	if err != nil || !mat.EqualApprox(got.lower, want.lower, 1e-12) {
		t.Errorf("%v, %v; want %v", mat.Formatted(got.lower), err, mat.Formatted(want.lower))
	}
	// Noise alone, which rounding makes no better, is factorised with jitter.
	if _, err := FactorizeNoisy(mat.NewSymDense(2, []float64{1, 1, 1, 1}), 1e-30, []float64{0, 1}); err != nil {
		t.Error(err)
	}
}

// Solving inverts the matrix, and is whitening twice.
func TestFactor(t *testing.T) {
	const n = 5
	k := covariance(n)
	f, err := Factorize(k)
	if err != nil {
		t.Fatal(err)
	}
	v := []float64{1, 2, 3, 4, 5}
	w := append([]float64(nil), v...)
	f.Whiten(w)
	f.WhitenTransposed(w)
	m := mat.NewDense(n, 1, append([]float64(nil), v...))
	f.Solve(m.RawMatrix())
	var back mat.Dense
	back.Mul(k, m)
	det := mat.Det(k)
	for i := range n {
		if math.Abs(w[i]-m.At(i, 0)) > 1e-9 || math.Abs(back.At(i, 0)-v[i]) > 1e-9 {
			t.Errorf("entry %d: %g and %g, want %g and %g", i, w[i], back.At(i, 0), m.At(i, 0), v[i])
		}
	}
	if math.Abs(f.LogDet()-math.Log(det)) > 1e-9 {
		t.Errorf("ln determinant %g, want %g", f.LogDet(), math.Log(det))
	}
}

func TestIndefinite(t *testing.T) {
	if _, err := Factorize(mat.NewSymDense(2, []float64{1, 2, 2, 1})); !errors.Is(err, ErrIndefinite) {
		t.Errorf("error %v", err)
	}
	if _, err := Factorize(mat.NewSymDense(2, []float64{1, 1, 1, 1})); err != nil {
		t.Errorf("rows that repeat each other: %v", err)
	}
}
