package leastsq

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// rosenbrock is the banana valley, as the sum of squares it is: minimum at (1, 1).
func rosenbrock() Problem {
	return Problem{Params: 2, Rows: 2, Residuals: func(x, r []float64) {
		r[0], r[1] = 10*(x[1]-x[0]*x[0]), 1-x[0]
	}}
}

func TestMinimizeRosenbrock(t *testing.T) {
	r := Minimize(rosenbrock(), []float64{-1.2, 1}, Settings{})
	if r.Status != Converged || math.Abs(r.X[0]-1) > 1e-5 || math.Abs(r.X[1]-1) > 1e-5 {
		t.Errorf("got %+v, want x = (1, 1)", r)
	}
}

// Misra1a, NIST Statistical Reference Datasets, nonlinear regression:
// y = b1·(1 − exp(−b2·x)), certified b1 = 238.94212918, b2 = 5.5015643181e-04,
// residual sum of squares 0.12455138894.
func TestMinimizeMisra1a(t *testing.T) {
	y := []float64{10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78}
	x := []float64{77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0}
	p := Problem{Params: 2, Rows: len(y), Residuals: func(b, r []float64) {
		for i := range y {
			r[i] = math.Exp(b[0])*(1-math.Exp(-math.Exp(b[1])*x[i])) - y[i]
		}
	}}
	got := Minimize(p, []float64{math.Log(500), math.Log(1e-4)}, Settings{Tolerance: 1e-14})
	if got.Status != Converged {
		t.Fatalf("status %v", got.Status)
	}
	for i, want := range []float64{238.94212918, 5.5015643181e-04} {
		if v := math.Exp(got.X[i]); math.Abs(v/want-1) > 1e-6 {
			t.Errorf("b%d = %.10g, want %.10g", i+1, v, want)
		}
	}
	if rss := 2 * got.Cost; math.Abs(rss/0.12455138894-1) > 1e-8 {
		t.Errorf("sum of squares %.11g, want 0.12455138894", rss)
	}
}

func TestMinimizeNeverClimbs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-3, 3)
		a, b, c := f.Draw(t, "a"), f.Draw(t, "b"), f.Draw(t, "c")
		p := Problem{Params: 2, Rows: 3, Residuals: func(x, r []float64) {
			r[0], r[1], r[2] = math.Exp(x[0])-a, x[0]*x[1]-b, math.Sin(x[1])-c
		}}
		x0 := []float64{f.Draw(t, "x0"), f.Draw(t, "x1")}
		r0 := make([]float64, 3)
		p.Residuals(x0, r0)
		r := Minimize(p, x0, Settings{})
		if !(r.Cost <= halfSquare(r0)) {
			t.Fatalf("cost %g from %g", r.Cost, halfSquare(r0))
		}
	})
}

func TestMinimizeReportsTrouble(t *testing.T) {
	nan := Problem{Params: 1, Rows: 1, Residuals: func(_, r []float64) { r[0] = math.NaN() }}
	if r := Minimize(nan, []float64{1}, Settings{}); r.Status != NotFinite {
		t.Errorf("status %v, want %v", r.Status, NotFinite)
	}
	if r := Minimize(rosenbrock(), []float64{-1.2, 1}, Settings{MaxIterations: 2}); r.Status != MaxIterations {
		t.Errorf("status %v, want %v", r.Status, MaxIterations)
	}
}

func ExampleMinimize() {
	p := Problem{Params: 1, Rows: 2, Residuals: func(x, r []float64) {
		r[0], r[1] = math.Exp(x[0])-2, math.Exp(x[0])-4
	}}
	r := Minimize(p, []float64{0}, Settings{})
	fmt.Printf("%.3f %v\n", math.Exp(r.X[0]), r.Status)
	// Output: 3.000 converged
}

// A derivative that is not finite ends the minimisation with NotFinite.
func TestNotFiniteDerivative(t *testing.T) {
	p := Problem{Params: 1, Rows: 1, Residuals: func(x, r []float64) { r[0] = x[0] - 3 },
		Jacobian: func(_ []float64, j *mat.Dense) { j.Set(0, 0, math.NaN()) }}
	if r := Minimize(p, []float64{0}, Settings{}); r.Status != NotFinite {
		t.Errorf("status %v, want %v", r.Status, NotFinite)
	}
}
