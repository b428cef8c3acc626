package gavel

import (
	"math"
	"slices"

	"knee/internal/list"
)

// Pair is two jobs of equal size that can run on the same GPUs at once.
type Pair struct {
	A, B  int
	Speed [][2]float64 // of A and B on type k, both all of their time, in the units of the problem; 0 where they cannot
}

// packed is [Problem.MaxMin] where pairs may have time of their own, at the cost
// of the GPUs of one of the two (space sharing, section 3.1). The rows are the
// time of every job, the GPUs of every type and the level of every job. Without
// filling it stops at the least level.
//
// A job whose level has a price can rise in no optimum and is left where it is.
// The level of the others is then raised by columns alone that the optimum may
// hold, those that lose nothing at its prices.
func (p *Problem) packed(need []float64, filling bool) Allocation {
	f := newFill(p, need)
	n, kinds := len(p.Size), len(p.GPUs)
	there, rising := slices.Repeat([]float64{1}, 2*n+kinds), []int{}
	for i := range n {
		there[n+kinds+i] = 1e-9 * float64(i+1) / float64(n) // so that no two rows are used up at once
		if math.IsNaN(f.frozen[i]) {
			rising = append(rising, n+kinds+i)
		}
	}
	m, may, a := newSimplex(there), f.columns(), Allocation{}
	for r := range there {
		may = append(may, slack(r))
	}
	for first := true; len(rising) > 0; first = false {
		level := &column{gain: 1, rows: slices.Clone(rising), amount: slices.Repeat([]float64{1}, len(rising))}
		may = append(may, level)
		m.maximise(may)
		prices := m.duals()
		if first {
			if r := slices.Index(m.basis, level); r >= 0 {
				a.Level = m.weight[r] * f.top
			}
			for _, y := range prices[:n+kinds] {
				a.Bound += y * f.top
			}
		}
		const nothing = 1e-9
		rising = slices.DeleteFunc(rising, func(r int) bool { return prices[r] > nothing })
		if !filling || len(rising) == len(level.rows) {
			break
		}
		may = slices.DeleteFunc(may, func(c *column) bool { return c.profit(prices) < -nothing })
		level.gain = 0
	}
	f.shares(m, &a)
	return a
}

// columns are time of single jobs and of pairs on every type.
func (f *fill) columns() []*column {
	n, kinds := len(f.Size), len(f.GPUs)
	var out []*column
	add := func(who, k int, jobs []int, rates ...float64) {
		c := &column{time: true, who: who, kind: k, rows: []int{n + k}, amount: []float64{f.cost[jobs[0]][k]}}
		for x, i := range jobs {
			c.rows, c.amount = append(c.rows, i, n+kinds+i), append(c.amount, 1, -rates[x])
		}
		out = append(out, c)
	}
	for k := range kinds {
		for i := range n {
			if f.rate[i][k] > 0 {
				add(i, k, []int{i}, f.rate[i][k])
			}
		}
		for x, pair := range f.Pairs {
			a, b := f.rate[pair.A][k], f.rate[pair.B][k]
			if v := pair.Speed[k]; v[0] > 0 && v[1] > 0 && a > 0 && b > 0 {
				add(n+x, k, []int{pair.A, pair.B}, a*v[0]/f.Speed[pair.A][k], b*v[1]/f.Speed[pair.B][k])
			}
		}
	}
	return out
}

// shares reads the shares of a solution.
func (f *fill) shares(m *simplex, a *Allocation) {
	a.Share, a.Packed = f.nothing(), list.Map(f.Pairs, func(Pair) []float64 { return make([]float64, len(f.GPUs)) })
	for r, c := range m.basis {
		switch w := m.weight[r]; {
		case !c.time: // a slack variable or a level
		case c.who < len(f.Size):
			a.Share[c.who][c.kind] = w
		default:
			a.Packed[c.who-len(f.Size)][c.kind] = w
		}
	}
}
