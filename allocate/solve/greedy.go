package solve

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"knee/allocate"
)

// rank orders the starts of jobs, the highest first.
type rank func(i, c int) float64

// cheap ranks by smallest share, to fit as many jobs as possible. Values change once jobs
// run: whether all fit must not depend on them.
func (k *knapsack) cheap(i, c int) float64 { return -k.jobs[i].items[c].share }

// dense ranks by value per share.
func (k *knapsack) dense(i, c int) float64 {
	it := k.jobs[i].items[c]
	return slope(it.value-k.jobs[i].idle, it.share)
}

// admit starts jobs on one of their smallest options each, in order of rank, and leaves
// out those that do not fit. With picky, jobs that can use few GPU types choose first, so
// that all fit more often.
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
		s.start(i, starts[i], r)
	}
	return s
}

// minimums are, for each GPU type, the item of fewest workers: where a job may start.
func (j *kjob) minimums() (starts []int) {
	for n, it := range j.items {
		at := slices.IndexFunc(starts, func(c int) bool { return j.items[c].branch == it.branch })
		if at < 0 {
			starts = append(starts, n)
		} else if b := j.items[starts[at]]; it.size < b.size || it.size == b.size && it.share < b.share {
			starts[at] = n
		}
	}
	// An order that does not depend on values.
	slices.SortFunc(starts, func(a, b int) int { return j.items[a].branch - j.items[b].branch })
	return starts
}

// start puts job i on the item of highest rank that fits.
func (s *selection) start(i int, starts []int, r rank) {
	best, top := allocate.None, math.Inf(-1)
	for _, c := range starts {
		if v := r(i, c); (best == allocate.None || v > top) && s.fits(i, c) {
			best, top = c, v
		}
	}
	s.set(i, best)
}

// step changes the item of a job; slope is the gain per dominant share.
type step struct {
	job, to int
	slope   float64
}

// next returns the steepest step of job i that fits. The item of steepest slope is the next
// vertex of the upper concave envelope, so a jump over options of small gain is one step.
// Other items are tried only if no vertex fits. Ties go to the smaller item.
func (s *selection) next(i int) (step, bool) {
	j := &s.k.jobs[i]
	best := step{job: i, to: allocate.None}
	for _, c := range j.hull {
		s.steeper(&best, c)
	}
	if best.to == allocate.None && len(j.hull) < len(j.items) {
		for c := range j.items {
			s.steeper(&best, c)
		}
	}
	return best, best.to != allocate.None
}

// steeper replaces the step by the one to item c if that is steeper and fits.
func (s *selection) steeper(best *step, c int) {
	i, from := best.job, s.choice[best.job]
	it := &s.k.jobs[i].items[c]
	gain := it.value - s.k.at(i, from)
	if gain <= 0 || c == from {
		return
	}
	extra := 0.0 // the largest share that it takes more
	for n := range s.k.dims[it.branch] {
		extra = max(extra, s.k.beyond(it, s.k.item(i, from), n))
	}
	if m := slope(gain, extra); (best.to == allocate.None || m > best.slope) && s.fits(i, c) {
		best.to, best.slope = c, m
	}
}

// grow takes the steepest step of any job until none fits: the algorithm of Optimus (section
// 4.1) on envelopes. The heap is lazy: a step is computed again only at the top.
func (s *selection) grow() {
	var h steps
	for i := range s.k.jobs {
		if st, ok := s.next(i); ok {
			h = append(h, st)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		st := h[0]
		if s.fits(st.job, st.to) {
			s.set(st.job, st.to)
		}
		if next, ok := s.next(st.job); ok {
			h[0] = next
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
}

// steps is a heap, the steepest first.
type steps []step

func (h steps) Len() int      { return len(h) }
func (h steps) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h steps) Less(i, j int) bool {
	return h[i].slope > h[j].slope || h[i].slope == h[j].slope && h[i].job < h[j].job
}
func (h *steps) Push(x any) { *h = append(*h, x.(step)) }
func (h *steps) Pop() any   { x := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return x }
