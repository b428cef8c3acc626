package interference

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// effect names one unknown: a key within a group of effects of equal variance.
type effect struct {
	group int
	key   string
}

// row is an observation y, the effects that add up to it, and its cell, one further effect.
type row struct {
	effects []effect
	cell    string
	y       float64
}

// effects is a mixed model: y is the sum of the effects of a row, the effect of
// its cell, and noise. Effects of a group, of cells, and noise are N(0,
// variance). Variances maximise their posterior (EM: Laird and Ware, Biometrics
// 1982); each has a prior worth one observation (Kass and Wasserman, JASA
// 1995), and the prior variances sum to 1.
type effects struct {
	groups   int
	column   map[effect]int
	group    []int // of a column
	cells    []*cell
	cell     map[string]*cell
	mean     *mat.VecDense
	cov      *mat.SymDense
	variance []float64 // of the groups, then of cells, then of the noise
	size     []float64 // number of effects of each
	evidence float64   // log marginal likelihood
}

// cell is the effect of a cell. It is eliminated from the linear system: given
// the other effects it follows directly.
type cell struct {
	n, sum float64  // number of rows, and sum of their y
	of     []weight // columns in those rows
	trust  float64  // posterior mean per unit of the rows' residual sum
	mean   float64
}

// weight is a column and the number of its occurrences.
type weight struct {
	column int
	times  float64
}

// counted adds one occurrence of a column.
func counted(of []weight, column int) []weight {
	for n := range of {
		if of[n].column == column {
			of[n].times++
			return of
		}
	}
	return append(of, weight{column, 1})
}

// EM ends after so many rounds, or when variances change by 2 % at most, intervals by 1 %.
const (
	rounds = 40
	still  = 0.02
)

// fitEffects fits a model; begin, if not nil, are the initial variances.
func fitEffects(rows []row, groups int, begin []float64) *effects {
	e := &effects{groups: groups, column: map[effect]int{}, cell: map[string]*cell{}, variance: begin, size: make([]float64, groups+2)}
	if begin == nil {
		e.variance = make([]float64, groups+2)
		for g := range e.variance {
			e.variance[g] = e.prior()
		}
	}
	for _, r := range rows {
		e.add(r)
	}
	if len(rows) == 0 {
		return e
	}
	for range rounds {
		e.posterior(rows)
		if !e.improve(rows) {
			break
		}
	}
	e.posterior(rows)
	return e
}

func (e *effects) prior() float64 { return 1 / float64(e.groups+2) }
func (e *effects) noise() float64 { return e.variance[e.groups+1] }

// add registers the effects and the cell of a row.
func (e *effects) add(r row) {
	c := e.cell[r.cell]
	if c == nil {
		c = &cell{}
		e.cell[r.cell], e.cells = c, append(e.cells, c)
		e.size[e.groups]++
	}
	for _, f := range r.effects {
		i, known := e.column[f]
		if !known {
			i = len(e.group)
			e.column[f], e.group = i, append(e.group, f.group)
			e.size[f.group]++
		}
		c.of = counted(c.of, i)
	}
	c.n, c.sum = c.n+1, c.sum+r.y
	e.size[e.groups+1]++
}

// posterior computes the effects and the evidence, given the variances.
func (e *effects) posterior(rows []row) {
	p, noise, cells := len(e.group), e.noise(), e.variance[e.groups]
	s, b, squares := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil), 0.0
	plus := func(i, j int, x float64) {
		if i <= j {
			s.SetSym(i, j, s.At(i, j)+x)
		}
	}
	for _, r := range rows {
		squares += r.y * r.y
		for _, f := range r.effects {
			i := e.column[f]
			b.SetVec(i, b.AtVec(i)+r.y/noise)
			for _, g := range r.effects {
				plus(i, e.column[g], 1/noise)
			}
		}
	}
	e.evidence = -squares / noise / 2
	for _, c := range e.cells {
		c.trust = cells / (c.n*cells + noise)
		for _, v := range c.of {
			b.SetVec(v.column, b.AtVec(v.column)-v.times*c.trust*c.sum/noise)
			for _, w := range c.of {
				plus(v.column, w.column, -v.times*w.times*c.trust/noise)
			}
		}
		e.evidence += (c.trust*c.sum*c.sum/noise - math.Log(cells/(c.trust*noise))) / 2
	}
	for i, g := range e.group {
		plus(i, i, 1/e.variance[g])
	}
	var chol mat.Cholesky
	chol.Factorize(s) // positive definite: every effect has a prior
	e.mean, e.cov = mat.NewVecDense(p, nil), mat.NewSymDense(p, nil)
	_ = chol.SolveVecTo(e.mean, b)
	_ = chol.InverseTo(e.cov)
	e.evidence += (mat.Dot(e.mean, b) - chol.LogDet()) / 2
	for _, c := range e.cells {
		c.mean = c.sum
		for _, v := range c.of {
			c.mean -= v.times * e.mean.AtVec(v.column)
		}
		c.mean *= c.trust
	}
	for g, n := range e.size {
		if g != e.groups { // cells are counted above
			e.evidence -= n / 2 * math.Log(e.variance[g])
		}
	}
}

// improve does a step of EM and reports whether a variance changed.
func (e *effects) improve(rows []row) (moved bool) {
	squares, known := make([]float64, len(e.size)), 0.0
	for i, g := range e.group {
		squares[g] += e.mean.AtVec(i)*e.mean.AtVec(i) + e.cov.At(i, i)
		known += 1 - e.cov.At(i, i)/e.variance[g]
	}
	for _, c := range e.cells {
		v := e.ofCell(c)
		squares[e.groups] += c.mean*c.mean + v
		known += 1 - v/e.variance[e.groups]
	}
	for _, r := range rows {
		left := r.y - e.cell[r.cell].mean
		for _, f := range r.effects {
			left -= e.mean.AtVec(e.column[f])
		}
		squares[e.groups+1] += left * left
	}
	squares[e.groups+1] += e.noise() * known
	for g := range e.size {
		before := e.variance[g]
		e.variance[g] = (squares[g] + e.prior()) / (e.size[g] + 1)
		moved = moved || math.Abs(e.variance[g]/before-1) > still
	}
	return moved
}

// ofCell is the posterior variance of the effect of a cell.
func (e *effects) ofCell(c *cell) float64 {
	return c.trust*e.noise() + c.trust*c.trust*e.covariance(c.of, c.of)
}

func (e *effects) covariance(a, b []weight) (sum float64) {
	for _, v := range a {
		for _, w := range b {
			sum += v.times * w.times * e.cov.At(v.column, w.column)
		}
	}
	return sum
}

// predict returns mean and variance of a new row; effects without data have their prior.
func (e *effects) predict(r row) (mean, variance float64) {
	var known []weight
	times := map[effect]float64{}
	for _, f := range r.effects {
		if i, there := e.column[f]; there {
			known = counted(known, i)
			mean += e.mean.AtVec(i)
			continue
		}
		variance += (1 + 2*times[f]) * e.variance[f.group] // (n+1)² − n²
		times[f]++
	}
	variance += e.noise() + e.covariance(known, known)
	if c := e.cell[r.cell]; c != nil {
		return mean + c.mean, variance + e.ofCell(c) - 2*c.trust*e.covariance(known, c.of)
	}
	return mean, variance + e.variance[e.groups]
}
