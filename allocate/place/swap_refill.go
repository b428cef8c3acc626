package place

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// swapTries bounds the swaps that are tried for one plan: each places
// two jobs and offers what they leave to all others.
const swapTries = 300

// swapRefill goes on where repair ends. There one job makes room for another at
// less than that one lost; here it may cost more, as long as what both leave
// behind is worth the difference to the others. Two jobs that each hold a
// part of a node which the other should have whole are set right so.
//
// It needs to know what uneven placements yield, without which a job that
// stands on one loses nothing; replays, which place thousands of times, do
// not ask.
func (p *placing) swapRefill(a allocate.Assignment) {
	if p.respeed == nil || len(p.shortened(a))*len(p.out) > repairPairs {
		return
	}
	tries := swapTries
	for changed := true; changed && tries > 0; {
		changed = false
		for _, i := range p.shortened(a) {
			for _, w := range p.ejections(i, 3*p.lost(i, a)) {
				if tries--; tries < 0 {
					return
				}
				if p.swapAndRefill(i, a.Choice[i], w) {
					changed = true
					break
				}
			}
		}
	}
}

// shortened lists the jobs that have less than they were assigned, the largest
// loss first.
func (p *placing) shortened(a allocate.Assignment) []int {
	var out []int
	for i, c := range a.Choice {
		if c != allocate.None && p.lost(i, a) > 1e-9*(1+math.Abs(p.valueOf(i))) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(x, y int) int { return cmp.Compare(p.lost(y, a), p.lost(x, a)) })
	return out
}

// lost is what job i lost between the assignment and its place.
func (p *placing) lost(i int, a allocate.Assignment) float64 {
	return p.state.Jobs[i].Options[a.Choice[i]].Value - p.valueOf(i)
}

// swapAndRefill makes one swap and keeps it if the sum of all values has
// risen.
func (p *placing) swapAndRefill(i, choice int, w ejection) bool {
	before, was := p.total(), slices.Clone(p.out)
	if !p.swap(i, choice, w) {
		return false
	}
	p.refill()
	if p.total() > before+1e-9*(1+math.Abs(before)) {
		return true
	}
	p.restore(was)
	return false
}

// total is the value of all that has been placed.
func (p *placing) total() float64 {
	var v float64
	for i := range p.out {
		v += p.valueOf(i)
	}
	return v
}

// restore puts every job back to where it was.
func (p *placing) restore(was []Placed) {
	changed := func(i int) bool {
		return p.out[i].Choice != was[i].Choice || !slices.Equal(p.out[i].Nodes, was[i].Nodes)
	}
	for i := range was {
		if changed(i) && p.out[i].Choice != allocate.None {
			p.placer.Release(p.out[i].Nodes, p.standing[i].Resources)
		}
	}
	for i := range was {
		if changed(i) {
			if was[i].Choice != allocate.None {
				p.placer.Take(was[i].Nodes, p.standing[i].Resources)
			}
			p.out[i] = was[i]
		}
	}
}
