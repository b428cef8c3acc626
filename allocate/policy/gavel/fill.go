package gavel

import (
	"cmp"
	"knee/internal/list"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// fill is the state of water filling. Speeds are relative to the need and to the
// highest level that all jobs not frozen can reach, so that levels are 0 to 1; the
// GPUs of a type are 1.
type fill struct {
	*Problem
	top    float64     // what level 1 is
	rate   [][]float64 // by job and type, in levels
	cost   [][]float64 // of all of the time of a job, as a share of the type
	frozen []float64   // level of a job that cannot rise; NaN for the others
	last   [][]float64 // the shares found last
	level  float64     // of last
}

// stage is the optimum with some jobs frozen; its level is of the others.
type stage struct {
	Allocation
	prices []float64
}

func newFill(p *Problem, need []float64) *fill {
	f := &fill{Problem: p, top: 1}
	for i := range p.Size {
		rate, cost, hold := make([]float64, len(p.GPUs)), make([]float64, len(p.GPUs)), 0.0
		for k := range p.GPUs {
			if s := p.speed(i, k); s > 0 {
				rate[k], cost[k], hold = s/need[i], p.Size[i]/p.GPUs[k], math.NaN()
			}
		}
		f.rate, f.cost, f.frozen = append(f.rate, rate), append(f.cost, cost), append(f.frozen, hold)
	}
	f.last = f.nothing()
	f.rescale()
	return f
}

// rescale makes the highest level that all jobs not frozen can reach 1.
func (f *fill) rescale() {
	top := math.Inf(1)
	for i, r := range f.rate {
		if math.IsNaN(f.frozen[i]) {
			top = math.Min(top, slices.Max(r))
		}
	}
	if math.IsInf(top, 1) {
		return
	}
	for i, r := range f.rate {
		for k := range r {
			r[k] /= top
		}
		f.frozen[i] /= top
	}
	f.level /= top
	f.top *= top
}

// raise maximises the level of the jobs not frozen, over convex combinations of columns
// that each are an allocation of all jobs, one point of the polytope that the rows of
// single jobs leave: one row per type, use ≤ 1, and one that makes the weights add up to 1.
func (f *fill) raise() stage {
	kinds := len(f.GPUs)
	m := newSimplex(slices.Repeat([]float64{1}, kinds+1))
	m.enter(f.column(f.level, f.last), kinds)
	const most, enough = 2000, 1e-9
	best := stage{Allocation{Bound: math.Inf(1)}, make([]float64, kinds)}
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
		if b := sum + profit; b < best.Bound {
			best.Bound, best.prices = b, prices
		}
		if profit-rest <= enough || !m.enter(c, byRatio) {
			break
		}
	}
	f.last, f.level = f.nothing(), 0
	for r, c := range m.basis {
		f.level += m.weight[r] * c.gain
		for i := range c.share {
			floats.AddScaled(f.last[i], m.weight[r], c.share[i])
		}
	}
	best.Share, best.Level, best.Bound = f.last, f.level*f.top, best.Bound*f.top // in the units of the problem
	return best
}

// nothing are shares of nothing.
func (f *fill) nothing() [][]float64 {
	return list.Map(f.rate, func([]float64) []float64 { return make([]float64, len(f.GPUs)) })
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

// freeze fixes the jobs that cannot rise beyond a stage: those whose row has a
// positive price in some dual optimum. It reports whether others are left.
func (f *fill) freeze(s stage) bool {
	const nothing = 1e-9
	level := s.Level / f.top
	left, right := make([]float64, len(f.rate)), make([]float64, len(f.rate))
	var below float64
	for i := range f.rate {
		if math.IsNaN(f.frozen[i]) {
			left[i], right[i] = f.hull(i, s.prices).slopes(level)
			below += left[i]
		}
	}
	free, froze := 0, false
	for i := range f.rate {
		switch {
		case !math.IsNaN(f.frozen[i]):
		case left[i] > nothing || math.IsInf(right[i], 1) || below < 1-nothing && right[i] > nothing && level < 1-nothing:
			f.frozen[i], froze = level, true
		default:
			free++
		}
	}
	if free == 0 || !froze {
		return false
	}
	f.rescale()
	return true
}

// point is the cost of reaching a level by one type alone.
type point struct {
	level, cost float64
	kind        int // −1 for nothing
}

// hull is the cheapest way to every level: straight between its points, which
// are time-shared.
type hull []point

// hull is the lower convex hull of a job's types at prices, from nothing up to the fastest.
func (f *fill) hull(i int, prices []float64) hull {
	points := make([]point, 1, 1+len(prices))
	points[0].kind = -1
	for k, r := range f.rate[i] {
		if r > 0 {
			points = append(points, point{r, prices[k] * f.cost[i][k], k})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.cost, b.cost)) })
	out := points[:1]
	for _, p := range points[1:] {
		if p.level == out[len(out)-1].level {
			continue
		}
		for len(out) > 1 && slope(out[len(out)-2], out[len(out)-1]) >= slope(out[len(out)-2], p) {
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	return out
}

func slope(a, b point) float64 { return (b.cost - a.cost) / (b.level - a.level) }

// slopes are the left and right derivative of the cost at a level. Beyond the
// fastest type the right one is infinite.
func (h hull) slopes(level float64) (left, right float64) {
	const near = 1e-9
	right = math.Inf(1)
	for n := 1; n < len(h); n++ {
		s := slope(h[n-1], h[n])
		if h[n-1].level < level-near {
			left = s
		}
		if h[n].level > level+near {
			return left, s
		}
	}
	return left, right
}

// at writes the shares of a level and returns its cost.
func (h hull) at(level float64, share []float64) float64 {
	clear(share)
	for n := 1; n < len(h); n++ {
		a, b := h[n-1], h[n]
		if level > b.level && n < len(h)-1 {
			continue
		}
		w := math.Min(1, (level-a.level)/(b.level-a.level))
		share[b.kind] = w
		if a.kind >= 0 {
			share[a.kind] = 1 - w
		}
		return a.cost + w*(b.cost-a.cost)
	}
	return 0
}
