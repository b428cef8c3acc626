package gavel

import (
	"cmp"
	"math"
	"slices"
)

// column is an allocation of all jobs: one point of the polytope that the
// rows of single jobs leave.
type column struct {
	level float64
	use   []float64 // share of every type
	share [][]float64
}

// master is the program over convex combinations of columns: maximise the
// level, with one row per type, use ≤ 1, and one that makes the weights add up
// to 1. It is solved by the revised simplex method; slacks are columns of one
// type and no level.
type master struct {
	inverse [][]float64 // of the basis, rows × rows
	basis   []*column   // by row; nil for the slack of slack[row]
	slack   []int
	weight  []float64 // of the basis, ≥ 0
}

func newMaster(kinds int, start *column) *master {
	rows := kinds + 1
	m := &master{basis: make([]*column, rows), slack: make([]int, rows), weight: make([]float64, rows)}
	for r := range rows {
		m.inverse = append(m.inverse, make([]float64, rows))
		m.inverse[r][r] = 1
		m.slack[r] = r
		if r < kinds { // weight of a slack is what the start leaves of the type
			m.inverse[r][kinds] = -start.use[r]
			m.weight[r] = math.Max(0, 1-start.use[r])
		}
	}
	m.basis[kinds], m.weight[kinds] = start, 1
	return m
}

// duals are the prices of the types and the value of the last row.
func (m *master) duals() ([]float64, float64) {
	y := make([]float64, len(m.basis))
	for r, c := range m.basis {
		if c != nil {
			for k := range y {
				y[k] += c.level * m.inverse[r][k]
			}
		}
	}
	return y[:len(y)-1], y[len(y)-1]
}

// enter brings a column, or the slack of a type, into the basis. It reports
// whether that was possible.
func (m *master) enter(c *column, slack int) bool {
	rows := len(m.basis)
	a := make([]float64, rows)
	if c == nil {
		a[slack] = 1
	} else {
		copy(a, c.use)
		a[rows-1] = 1
	}
	d := make([]float64, rows)
	for r := range d {
		for k := range a {
			d[r] += m.inverse[r][k] * a[k]
		}
	}
	const tiny = 1e-11
	out, least := -1, math.Inf(1)
	for r := range d {
		if d[r] > tiny && m.weight[r]/d[r] < least {
			out, least = r, m.weight[r]/d[r]
		}
	}
	if out < 0 {
		return false
	}
	for r := range d {
		if r != out {
			m.weight[r] = math.Max(0, m.weight[r]-least*d[r])
			for k := range rows {
				m.inverse[r][k] -= d[r] / d[out] * m.inverse[out][k]
			}
		}
	}
	for k := range rows {
		m.inverse[out][k] /= d[out]
	}
	m.basis[out], m.slack[out], m.weight[out] = c, slack, least
	return true
}

// raise maximises the level of the jobs not frozen.
func (f *fill) raise() stage {
	kinds := len(f.GPUs)
	start := &column{share: f.last, use: make([]float64, kinds)}
	if f.last == nil {
		start.share = make([][]float64, len(f.rate))
		for i := range start.share {
			start.share[i] = make([]float64, kinds)
		}
	} else {
		start.level = f.level
		f.use(start)
	}
	m := newMaster(kinds, start)
	const most, enough = 2000, 1e-9
	best := stage{bound: math.Inf(1), prices: make([]float64, kinds)}
	for range most {
		prices, rest := m.duals()
		if k := slices.IndexFunc(prices, func(p float64) bool { return p < -enough }); k >= 0 {
			if !m.enter(nil, k) {
				break
			}
			continue
		}
		sum := 0.0
		for k, p := range prices {
			prices[k] = math.Max(p, 0)
			sum += prices[k]
		}
		c, profit := f.price(prices)
		if b := sum + profit; b < best.bound {
			best.bound, best.prices = b, prices
		}
		if profit-rest <= enough || !m.enter(c, 0) {
			break
		}
	}
	f.combine(m, &best)
	return best
}

// combine is the convex combination of the basis, in the units of the problem.
func (f *fill) combine(m *master, s *stage) {
	share := make([][]float64, len(f.rate))
	var level float64
	for i := range share {
		share[i] = make([]float64, len(f.GPUs))
	}
	for r, c := range m.basis {
		if c == nil || m.weight[r] == 0 {
			continue
		}
		level += m.weight[r] * c.level
		for i := range share {
			for k, x := range c.share[i] {
				share[i][k] += m.weight[r] * x
			}
		}
	}
	f.last, f.level = share, level
	s.share, s.level, s.bound = share, level*f.top, s.bound*f.top
}

// use adds up what a column takes of every type.
func (f *fill) use(c *column) {
	clear(c.use)
	for i := range c.share {
		for k, x := range c.share[i] {
			c.use[k] += x * f.cost[i][k]
		}
	}
}

// price returns the column of the largest level less its cost at prices, and
// that difference. The cost of a level is convex, so that the best is where
// the slopes of all jobs together pass 1.
func (f *fill) price(prices []float64) (*column, float64) {
	hulls := make([]hull, len(f.rate))
	type bend struct{ at, rise float64 }
	var bends []bend
	for i := range hulls {
		hulls[i] = f.hull(i, prices)
		if !math.IsNaN(f.frozen[i]) {
			continue
		}
		before := 0.0
		for n := 1; n < len(hulls[i]); n++ {
			s := slope(hulls[i][n-1], hulls[i][n])
			bends = append(bends, bend{hulls[i][n-1].level, s - before})
			before = s
		}
	}
	slices.SortFunc(bends, func(a, b bend) int { return cmp.Compare(a.at, b.at) })
	level, sum := 1.0, 0.0
	for _, b := range bends {
		if sum += b.rise; sum > 1 {
			level = math.Min(level, b.at)
			break
		}
	}
	c := &column{level: level, use: make([]float64, len(prices)), share: make([][]float64, len(f.rate))}
	profit := level
	for i := range hulls {
		c.share[i] = make([]float64, len(prices))
		l := level
		if !math.IsNaN(f.frozen[i]) {
			l = f.frozen[i]
		}
		profit -= hulls[i].at(l, c.share[i])
	}
	f.use(c)
	return c, profit
}
