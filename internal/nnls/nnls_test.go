package nnls

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func residualNorm(a mat.Matrix, x, b []float64) float64 {
	var r mat.VecDense
	r.MulVec(a, mat.NewVecDense(len(x), x))
	r.SubVec(mat.NewVecDense(len(b), b), &r)
	return mat.Norm(&r, 2)
}

// bruteForce tries every set of free columns and keeps the best feasible one.
func bruteForce(a *mat.Dense, b []float64) float64 {
	m, n := a.Dims()
	best := residualNorm(a, make([]float64, n), b)
	for set := 1; set < 1<<n; set++ {
		var cols []int
		for j := range n {
			if set>>j&1 == 1 {
				cols = append(cols, j)
			}
		}
		if len(cols) > m {
			continue
		}
		sub := mat.NewDense(m, len(cols), nil)
		for c, j := range cols {
			for i := range m {
				sub.Set(i, c, a.At(i, j))
			}
		}
		var z mat.VecDense
		if z.SolveVec(sub, mat.NewVecDense(m, b)) != nil {
			continue
		}
		x, feasible := make([]float64, n), true
		for c, j := range cols {
			x[j] = z.AtVec(c)
			feasible = feasible && x[j] >= 0
		}
		if feasible {
			best = math.Min(best, residualNorm(a, x, b))
		}
	}
	return best
}

func drawProblem(t *rapid.T) (*mat.Dense, []float64) {
	m := rapid.IntRange(1, 8).Draw(t, "rows")
	n := rapid.IntRange(1, 5).Draw(t, "columns")
	// Small integers make dependent and zero columns frequent.
	entry := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-4, 4).Draw(t, "v")) })
	a := mat.NewDense(m, n, rapid.SliceOfN(entry, m*n, m*n).Draw(t, "a"))
	return a, rapid.SliceOfN(entry, m, m).Draw(t, "b")
}

// The Karush–Kuhn–Tucker conditions are necessary and sufficient: the
// problem is convex.
func TestSolveMeetsOptimalityConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawProblem(t)
		x, status, err := Solve(a, b)
		if err != nil || status != Converged {
			t.Fatalf("status %v, error %v", status, err)
		}
		m, n := a.Dims()
		for j := range n {
			if x[j] < 0 {
				t.Fatalf("x[%d] = %g < 0", j, x[j])
			}
			var w float64 // Aᵀ(b − Ax), the descent direction
			for i := range m {
				r := b[i]
				for k := range n {
					r -= a.At(i, k) * x[k]
				}
				w += a.At(i, j) * r
			}
			if w > 1e-8 || (x[j] > 1e-9 && w < -1e-8) {
				t.Fatalf("x = %v: gradient %g at column %d", x, w, j)
			}
		}
	})
}

func TestSolveMatchesBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawProblem(t)
		x, _, err := Solve(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := residualNorm(a, x, b), bruteForce(a, b); got > want+1e-8 {
			t.Fatalf("residual %g, the best active set has %g", got, want)
		}
	})
}

func TestSolveIsScaleFree(t *testing.T) {
	// The same problem with columns 1e9 apart in size.
	a := mat.NewDense(3, 2, []float64{1, 1e9, 1, 2e9, 1, 3e9})
	x, _, err := Solve(a, []float64{3, 5, 7})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(x[0]-1) > 1e-9 || math.Abs(x[1]*1e9-2) > 1e-9 {
		t.Errorf("x = %v, want 1 and 2e-9", x)
	}
}

func TestSolveRefusesBadInput(t *testing.T) {
	a := mat.NewDense(2, 1, []float64{1, math.NaN()})
	if _, _, err := Solve(a, []float64{1, 2}); !errors.Is(err, ErrFinite) {
		t.Errorf("NaN: %v", err)
	}
	if _, _, err := Solve(mat.NewDense(2, 1, nil), []float64{1}); !errors.Is(err, ErrShape) {
		t.Errorf("shape: %v", err)
	}
	if _, _, err := Solve(mat.NewDense(1, 1, []float64{1}), []float64{math.Inf(1)}); !errors.Is(err, ErrFinite) {
		t.Errorf("Inf: %v", err)
	}
}

func ExampleSolve() {
	// A line through points that fall: the slope may not be negative, so
	// only the mean is left.
	a := mat.NewDense(3, 2, []float64{1, 1, 1, 2, 1, 3})
	x, status, _ := Solve(a, []float64{3, 2, 1})
	fmt.Printf("%.1f %v\n", x, status)
	// Output: [2.0 0.0] converged
}
