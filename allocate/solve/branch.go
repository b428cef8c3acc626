package solve

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// branchWork is the most nodes of the search tree that branch and bound visits.
const branchWork = 150_000

// branchJobs is the most jobs for which branch and bound is tried.
const branchJobs = 400

// branch searches for an assignment better than the incumbent by depth-first
// branch and bound. At the prices of the dual, the undecided jobs can add at most
// the sum of their largest reduced values plus the price of what is free; this
// prunes well if the gap is small. It reports whether the search was complete; the
// result is then optimal.
func (s *selection) branch(d dual, mustRun bool) bool {
	b := &brancher{k: s.k, price: d.price, mustRun: mustRun, best: s.total(), work: branchWork}
	switch {
	case d.bound <= b.best+b.eps():
		return true
	case len(s.k.jobs) > branchJobs:
		return false
	}
	b.prepare()
	b.cur = s.k.empty()
	b.walk(0)
	if b.found != nil {
		s.replace(b.found)
	}
	return b.work > 0
}

type brancher struct {
	k       *knapsack
	price   []float64
	mustRun bool
	order   []int       // jobs, in the order of decision
	choices [][]int     // by position in order, best reduced value first
	reduced [][]float64 // parallel to choices
	rest    []float64   // by position: sum of the best reduced values from there on
	cur     *selection
	value   float64 // of the decided jobs
	best    float64
	found   []int
	work    int
}

func (b *brancher) eps() float64 { return 1e-12 * (1 + math.Abs(b.best)) }

// prepare orders the choices of every job by reduced value, and the jobs by the
// difference of their two best choices, largest first: where a wrong decision
// costs least the search decides last.
func (b *brancher) prepare() {
	n := len(b.k.jobs)
	b.order, b.choices, b.reduced = make([]int, n), make([][]int, n), make([][]float64, n)
	for i := range b.k.jobs {
		b.order[i] = i
		b.choices[i], b.reduced[i] = b.ranked(i)
	}
	lead := func(i int) float64 {
		if r := b.reduced[i]; len(r) > 1 {
			return r[0] - r[1]
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(b.order, func(x, y int) int { return cmp.Compare(lead(y), lead(x)) })
	b.rest = make([]float64, n+1)
	for p := n - 1; p >= 0; p-- {
		b.rest[p] = b.rest[p+1] + b.reduced[b.order[p]][0]
	}
}

func (b *brancher) ranked(i int) ([]int, []float64) {
	j := &b.k.jobs[i]
	value := func(c int) float64 {
		if c == allocate.None {
			return j.idle
		}
		return j.items[c].value - b.k.worth(&j.items[c], b.price)
	}
	var choices []int
	if !b.mustRun || len(j.items) == 0 {
		choices = append(choices, allocate.None)
	}
	for c := range j.items {
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(x, y int) int { return cmp.Compare(value(y), value(x)) })
	reduced := make([]float64, len(choices))
	for n, c := range choices {
		reduced[n] = value(c)
	}
	return choices, reduced
}

func (b *brancher) freeWorth(free []float64) float64 {
	var w float64
	for d, f := range free {
		if b.k.scale[d] {
			w += b.price[d] * math.Max(0, f)
		}
	}
	return w
}

func (b *brancher) walk(p int) {
	if b.work--; b.work <= 0 {
		return
	}
	if p == len(b.order) {
		if b.value > b.best+b.eps() {
			b.best, b.found = b.value, slices.Clone(b.cur.choice)
		}
		return
	}
	i := b.order[p]
	free := b.freeWorth(b.cur.free)
	for n, c := range b.choices[i] {
		// The reduced value has the price of the choice's use, so free is before the
		// choice.
		if b.value+free+b.reduced[i][n]+b.rest[p+1] <= b.best+b.eps() {
			return
		}
		if !b.cur.fits(i, c) {
			continue
		}
		v := b.k.at(i, c)
		b.cur.set(i, c)
		b.value += v
		b.walk(p + 1)
		b.value -= v
		b.cur.set(i, allocate.None)
		if b.work <= 0 {
			return
		}
	}
}
