package gavel

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/internal/list"
)

// raise maximises the level of the jobs not frozen, over convex combinations of columns
// that each are an allocation of all jobs, one point of the polytope that the rows of
// single jobs leave: one row per type, use ≤ 1, and one that makes the weights add up to 1.
func (f *fill) raise() stage {
	kinds := len(f.GPUs)
	share, level := f.last, f.level
	if share == nil {
		share, level = f.nothing(), 0
	}
	m := newSimplex(slices.Repeat([]float64{1}, kinds+1))
	m.enter(f.column(level, share), kinds)
	const most, enough = 2000, 1e-9
	best := stage{bound: math.Inf(1), prices: make([]float64, kinds)}
	for range most {
		duals := m.duals()
		prices, rest := duals[:kinds], duals[kinds]
		if k := slices.IndexFunc(prices, func(p float64) bool { return p < -enough }); k >= 0 {
			if !m.enter(slack(k), byRatio) {
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
		if profit-rest <= enough || !m.enter(c, byRatio) {
			break
		}
	}
	f.combine(m, &best)
	return best
}

// nothing are shares of nothing.
func (f *fill) nothing() [][]float64 {
	return list.Map(f.rate, func([]float64) []float64 { return make([]float64, len(f.GPUs)) })
}

// combine is the convex combination of the basis, in the units of the problem.
func (f *fill) combine(m *simplex, s *stage) {
	share, level := f.nothing(), 0.0
	for r, c := range m.basis {
		level += m.weight[r] * c.gain
		for i := range c.share {
			floats.AddScaled(share[i], m.weight[r], c.share[i])
		}
	}
	f.last, f.level = share, level
	s.share, s.level, s.bound = share, level*f.top, s.bound*f.top
}

// column is an allocation at a level, with what it takes of every type.
func (f *fill) column(level float64, share [][]float64) *column {
	c := &column{gain: level, share: share, amount: make([]float64, len(f.GPUs)+1)}
	for k := range c.amount {
		c.rows = append(c.rows, k)
	}
	c.amount[len(f.GPUs)] = 1
	for i := range share {
		for k, x := range share[i] {
			c.amount[k] += x * f.cost[i][k]
		}
	}
	return c
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
	share, profit := f.nothing(), level
	for i := range hulls {
		l := level
		if !math.IsNaN(f.frozen[i]) {
			l = f.frozen[i]
		}
		profit -= hulls[i].at(l, share[i])
	}
	return f.column(level, share), profit
}
