package allocate

import (
	"errors"
	"math"
)

// MarginalGain is the policy of this package: give the next unit to the job
// that gains most per share of its dominant resource, then repair. See the
// package comment for what it takes from Optimus and where it differs.
//
// A job that can start at its minimum together with all others is not
// paused in favour of another, and value and bound are those of the plans
// that keep to this; only when the minimums do not all fit do jobs wait,
// those with the least value per share first.
type MarginalGain struct {
	// Greedy stops after the marginal-gain steps: no local search, no
	// branch and bound. For comparison with the published algorithm.
	Greedy bool
}

// Allocate implements [Policy]. The bound is that of the Lagrangian dual of
// the same option tables; Proven says that branch and bound reached it.
func (m MarginalGain) Allocate(s State) (Assignment, error) {
	if s.Cluster == nil {
		return Assignment{}, errors.New("allocate: the state has no cluster")
	}
	for _, j := range s.Jobs {
		if math.IsNaN(j.Idle) || math.IsInf(j.Idle, 0) {
			return Assignment{}, errors.New("allocate: job " + j.Name + ": the value of getting nothing must be finite")
		}
	}
	k := newKnapsack(s, newCapacity(s))
	if m.Greedy {
		sel, everyone := k.start()
		sel.grow()
		return k.assignment(sel, k.bound(sel.total(), everyone), false), nil
	}
	sel, d, proven := k.solve()
	return k.assignment(sel, d, proven), nil
}

// start admits everyone if it can, else those who are worth most. It
// reports which.
func (k *knapsack) start() (sel *selection, everyone bool) {
	all := k.admit(k.cheap, true)
	sel = k.admit(k.dense, false)
	if all.allRun() && !sel.allRun() {
		sel = all
	}
	return sel, all.allRun()
}

// solve runs the greedy steps from three sides (by dominant share, at the
// prices of the dual, and from what runs now), repairs each by local search,
// keeps the best and tries to prove or beat it by branch and bound. What
// runs now is tried first and wins ties, so that a plan is not changed for
// nothing.
func (k *knapsack) solve() (*selection, dual, bool) {
	first, mustRun := k.start()
	grown := first.clone()
	grown.grow()
	d := k.bound(grown.total(), mustRun)
	priced := first.clone()
	priced.price = d.price
	priced.grow()
	priced.price = nil

	best := grown
	starts := []*selection{grown, priced}
	if now := k.now(); now != nil && (!mustRun || now.allRun()) {
		best, starts = now, append([]*selection{now}, starts...)
	}
	for _, sel := range starts {
		sel.improve(mustRun)
		sel.value = sel.total()
		if sel.value > best.value+best.threshold() {
			best = sel
		}
	}
	proven := best.branch(d, mustRun)
	if proven {
		d.bound = best.total()
	}
	return best, d, proven
}

// now is the assignment that runs, completed by starting what fits; nil if
// nothing runs or it does not fit the cluster any more.
func (k *knapsack) now() *selection {
	s := k.empty()
	some := false
	for i, j := range k.jobs {
		if j.current == none {
			continue
		}
		if !s.fits(i, j.current) {
			return nil
		}
		s.set(i, j.current)
		some = true
	}
	if !some {
		return nil
	}
	for i, j := range k.jobs {
		if s.choice[i] == none {
			s.start(i, j.minimums(), k.dense)
		}
	}
	return s
}

// assignment translates a selection back to option indices.
func (k *knapsack) assignment(s *selection, d dual, proven bool) Assignment {
	a := Assignment{Choice: make([]int, len(s.choice)), Value: s.total(), Proven: proven}
	for i, c := range s.choice {
		a.Choice[i] = none
		if c != none {
			a.Choice[i] = k.jobs[i].items[c].option
		}
	}
	a.Bound = math.Max(d.bound, a.Value)
	return a
}
