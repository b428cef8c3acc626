package nnls

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Status says how a solve ended.
type Status int

// The ways a solve can end.
const (
	Converged     Status = iota // the optimality conditions hold
	MaxIterations               // the best point so far was returned
)

// String returns the status in words.
func (s Status) String() string {
	if s == Converged {
		return "converged"
	}
	return "iteration limit reached"
}

// Errors for inputs that no answer exists for.
var (
	ErrShape  = errors.New("nnls: the matrix and the right-hand side differ in rows")
	ErrFinite = errors.New("nnls: the input holds a value that is not finite")
)

// dependent is the smallest ratio of diagonal entries of R at which a column
// still counts as linearly independent of the passive ones.
const dependent = 1e-11

// Solve returns x ≥ 0 that minimises ‖A·x − b‖, A being m×n and b of length m.
//
// Columns that are zero, or that depend linearly on others, get what is left
// after the others took their share (zero), so rank-deficient problems have
// an answer too, though not a unique one. Columns may differ in size by many
// orders of magnitude: they are scaled internally.
func Solve(a mat.Matrix, b []float64) (x []float64, status Status, err error) {
	m, n := a.Dims()
	if m != len(b) {
		return nil, Converged, ErrShape
	}
	s, err := newSolver(a, b)
	if err != nil {
		return nil, Converged, err
	}
	status = s.run(3*n + 30)
	for j := range s.x {
		if s.norm[j] > 0 {
			s.x[j] /= s.norm[j]
		}
	}
	return s.x, status, nil
}

// solver holds the scaled problem and the state of the active-set search.
type solver struct {
	a       *mat.Dense // columns of norm 1 (or 0)
	b       []float64
	norm    []float64 // original column norms
	x       []float64
	passive []bool // columns free to be positive
	blocked []bool // columns that turned out to depend on the passive ones
	tol     float64
}

func newSolver(a mat.Matrix, b []float64) (*solver, error) {
	m, n := a.Dims()
	s := &solver{
		a: mat.DenseCopyOf(a), b: b,
		norm: make([]float64, n), x: make([]float64, n),
		passive: make([]bool, n), blocked: make([]bool, n),
	}
	var bNorm float64
	for _, v := range b {
		bNorm = math.Hypot(bNorm, v)
	}
	for j := range n {
		var c float64
		for i := range m {
			c = math.Hypot(c, s.a.At(i, j))
		}
		bNorm += 0 * c // propagates NaN and Inf to one check
		s.norm[j] = c
		for i := range m {
			if c > 0 {
				s.a.Set(i, j, s.a.At(i, j)/c)
			}
		}
	}
	if math.IsNaN(bNorm) || math.IsInf(bNorm, 0) {
		return nil, ErrFinite
	}
	s.tol = 1e-12 * bNorm
	return s, nil
}

// run moves columns between the active and the passive set until no column
// held at zero would lower the residual.
func (s *solver) run(limit int) Status {
	for range limit {
		j := s.steepest()
		if j < 0 {
			return Converged
		}
		s.passive[j] = true
		if !s.settle(j) {
			s.passive[j] = false
			s.blocked[j] = true
		}
	}
	return MaxIterations
}

// steepest returns the column at zero whose increase lowers the residual
// fastest, −1 if none does.
func (s *solver) steepest() int {
	r := s.residual()
	best, at := s.tol, -1
	for j := range s.x {
		if s.passive[j] || s.blocked[j] {
			continue
		}
		var w float64
		for i, ri := range r {
			w += s.a.At(i, j) * ri
		}
		if w > best {
			best, at = w, j
		}
	}
	return at
}

func (s *solver) residual() []float64 {
	r := make([]float64, len(s.b))
	for i := range r {
		r[i] = s.b[i]
		for j, xj := range s.x {
			r[i] -= s.a.At(i, j) * xj
		}
	}
	return r
}

// settle solves on the passive set and, while that solution has negative
// entries, walks towards it and drops the first column to reach zero. It
// reports false if the newcomer j depends on the others or would go negative,
// in which case nothing was changed.
func (s *solver) settle(j int) bool {
	for first := true; ; first = false {
		z, ok := s.unconstrained()
		if !ok || (first && z[j] <= 0) {
			return false
		}
		alpha, drop := 1.0, -1
		for i := range z {
			if s.passive[i] && z[i] <= 0 {
				if step := s.x[i] / (s.x[i] - z[i]); step < alpha {
					alpha, drop = step, i
				}
			}
		}
		for i := range s.x {
			s.x[i] += alpha * (z[i] - s.x[i])
		}
		if drop < 0 {
			clear(s.blocked) // the passive set changed for good
			return true
		}
		s.x[drop] = 0
		for i := range s.x {
			if s.passive[i] && s.x[i] <= 0 {
				s.x[i], s.passive[i] = 0, false
			}
		}
	}
}

// unconstrained solves the least-squares problem on the passive columns; the
// other entries are zero. It reports false if those columns are dependent.
func (s *solver) unconstrained() ([]float64, bool) {
	var cols []int
	for j, p := range s.passive {
		if p {
			cols = append(cols, j)
		}
	}
	m := len(s.b)
	z := make([]float64, len(s.x))
	if len(cols) == 0 {
		return z, true
	}
	if len(cols) > m {
		return nil, false
	}
	sub := mat.NewDense(m, len(cols), nil)
	for c, j := range cols {
		for i := range m {
			sub.Set(i, c, s.a.At(i, j))
		}
	}
	var qr mat.QR
	qr.Factorize(sub)
	var r mat.Dense
	qr.RTo(&r)
	for c := range cols {
		if math.Abs(r.At(c, c)) < dependent {
			return nil, false
		}
	}
	var sol mat.VecDense
	if err := qr.SolveVecTo(&sol, false, mat.NewVecDense(m, s.b)); err != nil {
		var cond mat.Condition
		if !errors.As(err, &cond) {
			return nil, false
		}
	}
	for c, j := range cols {
		z[j] = sol.AtVec(c)
	}
	return z, true
}
