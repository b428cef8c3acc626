package gavel

import (
	"math"
	"slices"
)

// Pair is two jobs of equal size that can run on the same GPUs at once.
type Pair struct {
	A, B  int
	Speed [][2]float64 // of A and B on type k, both all of their time, in the units of the problem; 0 where they cannot
}

// packed maximises the least speed relative to need[i] > 0 where pairs may have
// time of their own, at the cost of the GPUs of one of the two (space sharing,
// section 3.1). The rows are the time of every job, the GPUs of every type and
// the level of every job. What the least leaves goes to where it is fastest for
// the need, at a weight that matters only among equals.
func (p *Problem) packed(need []float64) Allocation {
	f := newFill(p, need)
	n, kinds := len(p.Size), len(p.GPUs)
	there, level := slices.Repeat([]float64{1}, 2*n+kinds), &column{gain: 1}
	for i := range n {
		there[n+kinds+i] = 1e-9 * float64(i+1) / float64(n) // so that no two rows are used up at once
		if p.runs(i) {
			level.rows, level.amount = append(level.rows, n+kinds+i), append(level.amount, 1)
		}
	}
	columns, most := f.columns(), 0.0
	for _, c := range columns {
		most = math.Max(most, c.gain)
	}
	for _, c := range columns {
		c.gain *= 1e-5 / (most * float64(n))
	}
	m, all := newSimplex(there), append([]*column{level}, columns...)
	for range 100 * len(there) {
		duals := m.duals()
		enters, best := (*column)(nil), 1e-10
		for r, y := range duals {
			if -y > best {
				enters, best = slack(r), -y
			}
		}
		for _, c := range all {
			if v := c.profit(duals); v > best {
				enters, best = c, v
			}
		}
		if enters == nil || !m.enter(enters, byRatio) {
			break
		}
	}
	return f.allocation(m, level)
}

// columns are time of single jobs and of pairs on every type. What they gain is
// the levels they reach.
func (f *fill) columns() []*column {
	n, kinds := len(f.Size), len(f.GPUs)
	var out []*column
	add := func(who, k int, jobs []int, rates ...float64) {
		c := &column{who: who, kind: k, rows: []int{n + k}, amount: []float64{f.cost[jobs[0]][k]}}
		for x, i := range jobs {
			c.rows, c.amount = append(c.rows, i, n+kinds+i), append(c.amount, 1, -rates[x])
			c.gain += rates[x]
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

// allocation reads the solution, in the units of the problem.
func (f *fill) allocation(m *simplex, level *column) Allocation {
	a := Allocation{Share: f.nothing(), Packed: make([][]float64, len(f.Pairs))}
	for x := range a.Packed {
		a.Packed[x] = make([]float64, len(f.GPUs))
	}
	for r, c := range m.basis {
		switch w := m.weight[r]; {
		case c == level:
			a.Level = w * f.top
		case len(c.rows) < 3: // a slack variable
		case c.who < len(f.Size):
			a.Share[c.who][c.kind] = w
		default:
			a.Packed[c.who-len(f.Size)][c.kind] = w
		}
	}
	for _, y := range m.duals()[:len(f.Size)+len(f.GPUs)] {
		a.Bound += y * f.top
	}
	return a
}
