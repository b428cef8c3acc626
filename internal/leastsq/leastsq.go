package leastsq

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Problem is the function to minimise: half the squared length of Residuals.
type Problem struct {
	Params int // length of x
	Rows   int // length of r
	// Residuals fills r at x. It must be smooth, and must not keep x or r.
	Residuals func(x, r []float64)
	// Jacobian fills the Rows×Params matrix j with ∂r/∂x at x. nil: central
	// differences, with 2·Params calls of Residuals.
	Jacobian func(x []float64, j *mat.Dense)
}

// Settings controls a minimisation. The zero value is the default.
type Settings struct {
	MaxIterations int     // 0 means 60
	Lambda        float64 // initial damping relative to the diagonal of JᵀJ; 0 means 0.01
	MaxStep       float64 // largest change of one parameter in one step; 0 means 2
	Tolerance     float64 // relative decrease below which it has converged; 0 means 1e-9
}

func (s Settings) withDefaults() Settings {
	if s.MaxIterations == 0 {
		s.MaxIterations = 60
	}
	if s.Lambda == 0 {
		s.Lambda = 0.01
	}
	if s.MaxStep == 0 {
		s.MaxStep = 2
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-9
	}
	return s
}

// Status says how a minimisation ended.
type Status int

// The ways a minimisation can end.
const (
	Converged     Status = iota
	MaxIterations        // still improving when the iterations ran out
	NotFinite            // residuals at the start, or later derivatives, are not finite
)

// String returns the status in words.
func (s Status) String() string {
	switch s {
	case Converged:
		return "converged"
	case MaxIterations:
		return "iteration limit reached"
	}
	return "residuals or derivatives are not finite"
}

// Result is where a minimisation ended.
type Result struct {
	X      []float64
	Cost   float64 // half the squared length of the residuals at X
	Status Status
}

// Minimize finds a local minimum, starting from x0 (length Params), which it leaves
// unchanged.
func Minimize(p Problem, x0 []float64, s Settings) Result {
	s = s.withDefaults()
	w := newWalk(p, x0)
	if math.IsNaN(w.cost) || math.IsInf(w.cost, 0) {
		return Result{X: w.x, Cost: w.cost, Status: NotFinite}
	}
	lambda, grow := s.Lambda, 2.0
	small := 0 // consecutive steps that hardly improved
	for range s.MaxIterations {
		if !w.linearize() {
			return w.result(NotFinite)
		}
		before := w.cost
		for {
			if lambda > 1e12 {
				return w.result(Converged) // no step, however short, improves
			}
			if w.try(lambda, s.MaxStep) {
				lambda, grow = math.Max(lambda/3, 1e-12), 2
				break
			}
			lambda *= grow
			grow *= 2
		}
		if before-w.cost <= s.Tolerance*(before+1e-12) {
			if small++; small == 2 {
				return w.result(Converged)
			}
		} else {
			small = 0
		}
	}
	return w.result(MaxIterations)
}

// Jacobian returns the Rows×Params matrix of ∂r/∂x at x: by Problem.Jacobian if
// it is set, else by central differences.
func Jacobian(p Problem, x []float64) *mat.Dense {
	j := mat.NewDense(p.Rows, p.Params, nil)
	jacobian(p, append([]float64(nil), x...), j, make([]float64, p.Rows), make([]float64, p.Rows))
	return j
}

func jacobian(p Problem, x []float64, j *mat.Dense, up, down []float64) {
	if p.Jacobian != nil {
		p.Jacobian(x, j)
		return
	}
	for c := range x {
		// The cube root of the machine precision (6e-6) balances truncation and rounding.
		h := 6e-6 * math.Max(1, math.Abs(x[c]))
		keep := x[c]
		x[c] = keep + h
		p.Residuals(x, up)
		x[c] = keep - h
		p.Residuals(x, down)
		x[c] = keep
		for i := range up {
			j.Set(i, c, (up[i]-down[i])/(2*h))
		}
	}
}

// walk is the state of one minimisation.
type walk struct {
	p         Problem
	x, trial  []float64
	r, rTrial []float64
	spare     []float64
	cost      float64
	j         *mat.Dense
	normal    *mat.SymDense // JᵀJ
	grad      []float64     // Jᵀr
	damped    *mat.SymDense
	step      []float64
}

func newWalk(p Problem, x0 []float64) *walk {
	w := &walk{
		p: p, x: append([]float64(nil), x0...), trial: make([]float64, p.Params),
		r: make([]float64, p.Rows), rTrial: make([]float64, p.Rows), spare: make([]float64, p.Rows),
		j: mat.NewDense(p.Rows, p.Params, nil), normal: mat.NewSymDense(p.Params, nil),
		grad: make([]float64, p.Params), damped: mat.NewSymDense(p.Params, nil), step: make([]float64, p.Params),
	}
	p.Residuals(w.x, w.r)
	w.cost = halfSquare(w.r)
	return w
}

// linearize computes the derivatives at x, and reports whether they are finite.
func (w *walk) linearize() bool {
	jacobian(w.p, w.x, w.j, w.rTrial, w.spare)
	w.normal.SymOuterK(1, w.j.T())
	g := mat.NewVecDense(len(w.grad), w.grad)
	g.MulVec(w.j.T(), mat.NewVecDense(len(w.r), w.r))
	for i, v := range w.grad {
		if d := w.normal.At(i, i); math.IsNaN(v+d) || math.IsInf(v+d, 0) {
			return false
		}
	}
	return true
}

// try computes one damped step, and takes it if it lowers the cost.
func (w *walk) try(lambda, maxStep float64) bool {
	w.damped.CopySym(w.normal)
	for i := range w.x {
		d := w.normal.At(i, i)
		w.damped.SetSym(i, i, d+lambda*math.Max(d, 1e-12)+1e-300)
	}
	chol, ok := lapack64.Potrf(w.damped.RawSymmetric())
	if !ok {
		return false
	}
	step := blas64.General{Rows: len(w.x), Cols: 1, Stride: 1, Data: w.step}
	copy(w.step, w.grad)
	lapack64.Potrs(chol, step)
	for i, d := range w.step {
		w.trial[i] = w.x[i] - math.Max(-maxStep, math.Min(maxStep, d))
	}
	w.p.Residuals(w.trial, w.rTrial)
	cost := halfSquare(w.rTrial)
	if !(cost < w.cost) { // false for NaN too
		return false
	}
	w.x, w.trial = w.trial, w.x
	w.r, w.rTrial = w.rTrial, w.r
	w.cost = cost
	return true
}

func (w *walk) result(s Status) Result {
	return Result{X: w.x, Cost: w.cost, Status: s}
}

func halfSquare(r []float64) float64 {
	var s float64
	for _, v := range r {
		s += v * v
	}
	return s / 2
}
