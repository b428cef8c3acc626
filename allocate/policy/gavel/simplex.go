package gavel

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// column is a variable of a linear program: its gain and its coefficients in some
// rows, per unit.
type column struct {
	gain      float64
	rows      []int
	amount    []float64
	share     [][]float64 // where it is an allocation of all jobs
	time      bool        // it is time of one job, or of a pair, on a type
	who, kind int         // which
}

// simplex maximises the gain of columns ≥ 0 within the limits of the rows, by the revised
// simplex method. Columns, of which slack variables are some, may be made when needed.
type simplex struct {
	inverse [][]float64 // of the basis, rows × rows
	basis   []*column   // by row
	weight  []float64   // of the basis, ≥ 0
}

// slack is the slack variable of a row: its limit less its value.
func slack(row int) *column { return &column{rows: []int{row}, amount: []float64{1}} }

// newSimplex starts with the slack variables as basis; there has the limits of the
// rows, ≥ 0.
func newSimplex(there []float64) *simplex {
	s := &simplex{weight: there}
	for r := range there {
		s.inverse, s.basis = append(s.inverse, make([]float64, len(there))), append(s.basis, slack(r))
		s.inverse[r][r] = 1
	}
	return s
}

// duals are the prices of the rows.
func (s *simplex) duals() []float64 {
	y := make([]float64, len(s.basis))
	for r, c := range s.basis {
		if c.gain != 0 {
			floats.AddScaled(y, c.gain, s.inverse[r])
		}
	}
	return y
}

// profit is the reduced gain of a column at prices, per unit.
func (c *column) profit(prices []float64) float64 {
	v := c.gain
	for n, r := range c.rows {
		v -= prices[r] * c.amount[n]
	}
	return v
}

// maximise enters columns while one has a positive reduced gain.
func (s *simplex) maximise(of []*column) {
	for range 100 * len(s.basis) {
		prices := s.duals()
		enters, best := (*column)(nil), 1e-10
		for _, c := range of {
			if v := c.profit(prices); v > best {
				enters, best = c, v
			}
		}
		if enters == nil || !s.enter(enters, byRatio) {
			return
		}
	}
}

// byRatio: the row that is used up first leaves the basis.
const byRatio = -1

// enter replaces the column at row out of the basis, and reports whether that was possible.
func (s *simplex) enter(c *column, out int) bool {
	d := make([]float64, len(s.basis))
	for r, row := range s.inverse {
		for n, k := range c.rows {
			d[r] += row[k] * c.amount[n]
		}
	}
	const tiny = 1e-11
	if out == byRatio {
		least := math.Inf(1)
		for r := range d {
			if d[r] > tiny {
				least = math.Min(least, (s.weight[r]+tiny)/d[r])
			}
		}
		for r := range d { // of those used up at once, the one that divides best (Harris, 1973)
			if d[r] > tiny && s.weight[r]/d[r] <= least && (out == byRatio || d[r] > d[out]) {
				out = r
			}
		}
	}
	if out == byRatio {
		return false
	}
	step := s.weight[out] / d[out]
	for r := range d {
		if r == out || d[r] == 0 {
			continue
		}
		s.weight[r] = math.Max(0, s.weight[r]-step*d[r])
		floats.AddScaled(s.inverse[r], -d[r]/d[out], s.inverse[out])
	}
	for k := range s.inverse[out] {
		s.inverse[out][k] /= d[out]
	}
	s.basis[out], s.weight[out] = c, step
	return true
}
