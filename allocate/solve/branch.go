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

// branch searches for an assignment better than the incumbent by depth-first branch and
// bound. At the prices of the dual, the undecided jobs can add at most the sum of their
// largest reduced values plus the price of what is free. It reports whether the search
// was complete; the result is then optimal.
func (s *selection) branch(d dual, mustRun bool) bool {
	b := &brancher{k: s.k, price: d.price, mustRun: mustRun, best: s.total(), work: branchWork}
	switch {
	case d.bound <= b.best+rounding(b.best):
		return true
	case len(s.k.jobs) > branchJobs:
		return false
	}
	b.prepare()
	b.cur = s.k.empty()
	b.walk(0)
	if b.found != nil {
		*s = *b.found
	}
	return b.work > 0
}

type brancher struct {
	k       *knapsack
	price   []float64
	mustRun bool
	order   []int      // jobs, in the order of decision
	ranked  [][]ranked // by job: its choices, best first
	rest    []float64  // by position in order: sum of the best reduced values from there on
	cur     *selection
	value   float64 // of the decided jobs
	best    float64
	found   *selection
	work    int
}

// ranked is a choice and its value less the price of what it takes.
type ranked struct {
	choice  int
	reduced float64
}

// prepare orders the choices of every job by reduced value, and the jobs by the difference of
// their two best, largest first: the search decides last where a wrong decision costs least.
func (b *brancher) prepare() {
	n := len(b.k.jobs)
	b.order, b.ranked = make([]int, n), make([][]ranked, n)
	for i := range b.k.jobs {
		b.order[i], b.ranked[i] = i, b.rank(i)
	}
	lead := func(i int) float64 {
		if r := b.ranked[i]; len(r) > 1 {
			return r[0].reduced - r[1].reduced
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(b.order, func(x, y int) int { return cmp.Compare(lead(y), lead(x)) })
	b.rest = make([]float64, n+1)
	for p := n - 1; p >= 0; p-- {
		b.rest[p] = b.rest[p+1] + b.ranked[b.order[p]][0].reduced
	}
}

func (b *brancher) rank(i int) []ranked {
	j := &b.k.jobs[i]
	var out []ranked
	if !b.mustRun || len(j.items) == 0 {
		out = append(out, ranked{allocate.None, j.idle})
	}
	for c := range j.items {
		out = append(out, ranked{c, j.items[c].value - b.k.worth(&j.items[c], b.price)})
	}
	slices.SortStableFunc(out, func(x, y ranked) int { return cmp.Compare(y.reduced, x.reduced) })
	return out
}

func (b *brancher) walk(p int) {
	if b.work--; b.work <= 0 {
		return
	}
	if p == len(b.order) {
		if b.value > b.best+rounding(b.best) {
			b.best, b.found = b.value, b.cur.clone()
		}
		return
	}
	i := b.order[p]
	free := 0.0 // the price of what is free
	for d, f := range b.cur.free {
		if b.k.limit[d] > 0 {
			free += b.price[d] * math.Max(0, f)
		}
	}
	for _, r := range b.ranked[i] {
		// The price of what the choice takes is in its reduced value, so free is that
		// before the choice.
		if b.value+free+r.reduced+b.rest[p+1] <= b.best+rounding(b.best) {
			return
		}
		if !b.cur.fits(i, r.choice) {
			continue
		}
		v := b.k.at(i, r.choice)
		b.cur.set(i, r.choice)
		b.value += v
		b.walk(p + 1)
		b.value -= v
		b.cur.set(i, allocate.None)
		if b.work <= 0 {
			return
		}
	}
}
