package allocate

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// rank says how much job i wants to start on item c.
type rank func(i, c int) float64

// cheap ranks by smallest share, whatever the value: the way to fit most
// jobs. Whether all jobs fit must not depend on their values, or the same
// jobs would be judged differently once some of them run.
func (k *knapsack) cheap(i, c int) float64 { return -k.jobs[i].items[c].share }

// dense ranks by value per share: the way to decide who waits.
func (k *knapsack) dense(i, c int) float64 {
	it := k.jobs[i].items[c]
	return slope(it.value-k.jobs[i].idle, it.share)
}

// admit starts jobs on one of their smallest options each, in order of rank,
// and leaves out those that no longer fit. With picky, jobs that can use
// only few GPU types choose first, which makes room for all more often.
func (k *knapsack) admit(r rank, picky bool) *selection {
	s := k.empty()
	order := make([]int, len(k.jobs))
	starts := make([][]int, len(k.jobs))
	top := make([]float64, len(k.jobs))
	for i := range k.jobs {
		order[i], starts[i], top[i] = i, k.jobs[i].minimums(), math.Inf(-1)
		for _, c := range starts[i] {
			top[i] = math.Max(top[i], r(i, c))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := len(starts[a]) - len(starts[b]); picky && d != 0 {
			return d
		}
		return cmp.Compare(top[b], top[a])
	})
	for _, i := range order {
		if !s.start(i, starts[i], r) {
			s.makeRoom(i, starts, r)
		}
	}
	return s
}

// minimums returns, for each GPU type, the item of fewest workers that is
// worth most: where a job may start.
func (j kjob) minimums() []int {
	var types []string
	best := map[string]int{}
	for n, it := range j.items {
		b, seen := best[it.branch]
		if !seen {
			types = append(types, it.branch)
		}
		if !seen || it.size < j.items[b].size || it.size == j.items[b].size && it.share < j.items[b].share {
			best[it.branch] = n
		}
	}
	slices.Sort(types) // an order that does not depend on values
	var starts []int
	for _, t := range types {
		starts = append(starts, best[t])
	}
	return starts
}

// start puts job i on the start of highest rank that fits.
func (s *selection) start(i int, starts []int, r rank) bool {
	best, top := none, math.Inf(-1)
	for _, c := range starts {
		if v := r(i, c); (best == none || v > top) && s.fits(i, c) {
			best, top = c, v
		}
	}
	if best == none {
		return false
	}
	s.set(i, best)
	return true
}

// makeRoom tries to start job i by sending one job that was started before
// to another of its own starts.
func (s *selection) makeRoom(i int, starts [][]int, r rank) bool {
	for j := range s.choice {
		was := s.choice[j]
		if was == none {
			continue
		}
		for _, c := range starts[j] {
			if c == was || !s.fits(j, c) {
				continue
			}
			s.set(j, c)
			if s.start(i, starts[i], r) {
				return true
			}
			s.set(j, was)
		}
	}
	return false
}

// step is one edge of an upper concave envelope: job i could go from item
// from to item to at a gain of slope per dominant share.
type step struct {
	job, from, to int
	slope         float64
}

// next returns the steepest step of job i that fits. Going to the item of
// steepest slope is going to the next vertex of the upper concave envelope
// of the items, so that a jump over options of poor gain is one step.
// Ties go to the smaller item.
func (s *selection) next(i int) (step, bool) {
	from := s.choice[i]
	base, use := s.k.at(i, from), s.k.needs(i, from)
	best := step{job: i, from: from, to: none}
	for c, it := range s.k.jobs[i].items {
		gain := it.value - base
		if gain <= 0 || c == from {
			continue
		}
		if m := slope(gain, s.extra(it.use, use)); (best.to == none || m > best.slope) && s.fits(i, c) {
			best.to, best.slope = c, m
		}
	}
	return best, best.to != none
}

// extra returns what a change of demand costs: the dominant share of what
// to takes beyond from, or, at prices, the worth of what it takes less the
// worth of what it gives back.
func (s *selection) extra(to, from []float64) float64 {
	var dominant, worth float64
	for d, u := range to {
		if from != nil {
			u -= from[d]
		}
		if u == 0 {
			continue
		}
		x := u / s.k.limit[d]
		dominant = math.Max(dominant, x)
		if s.price != nil {
			worth += s.price[d] * x
		}
	}
	if s.price != nil {
		return worth
	}
	return dominant
}

// slope is gain per share; a gain that costs nothing beats all others.
func slope(gain, share float64) float64 {
	if share <= 0 {
		if gain > 0 {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	return gain / share
}

// grow takes the steepest step of any job until none fits: the allocation
// algorithm of Optimus (section 4.1) on envelopes. The heap is lazy: a step
// that no longer fits is looked up again only when it comes to the top, and
// as nothing is freed except by its own job's change of GPU type, the new
// one is never steeper than the old by more than such a change explains.
func (s *selection) grow() {
	h := &steps{}
	for i := range s.k.jobs {
		if st, ok := s.next(i); ok {
			*h = append(*h, st)
		}
	}
	heap.Init(h)
	for h.Len() > 0 {
		st := heap.Pop(h).(step)
		if s.fits(st.job, st.to) {
			s.set(st.job, st.to)
		}
		if st, ok := s.next(st.job); ok {
			heap.Push(h, st)
		}
	}
}

// steps is a heap of steps, steepest first, then by job.
type steps []step

func (h steps) Len() int { return len(h) }
func (h steps) Less(a, b int) bool {
	if h[a].slope != h[b].slope {
		return h[a].slope > h[b].slope
	}
	return h[a].job < h[b].job
}
func (h steps) Swap(a, b int) { h[a], h[b] = h[b], h[a] }

// Push implements [heap.Interface].
func (h *steps) Push(x any) { *h = append(*h, x.(step)) }

// Pop implements [heap.Interface].
func (h *steps) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
