package solve

import (
	"math"
	"slices"

	"knee/allocate"
)

// pricedView is what letting jobs choose at prices needs of the items, laid out in
// the order in which it is read: the dual looks at all of it dozens of times,
// and with thousands of jobs most of what that takes is waiting for memory.
//
// Of a dozen resources two or three are scarce and have a price; what an item
// takes of the others does not matter. Where one price is left for a GPU
// type, only the vertices of the upper concave envelope over that resource
// can be best: a handful of hundreds of combinations of workers and
// parameter servers.
type pricedView struct {
	alive   [][]int     // by branch: the positions of item.use with a price that this was made for
	rate    [][]float64 // by branch: the prices in use, parallel to alive
	rows    []pricedRow // of all jobs, one for each GPU type it can use
	first   []int       // by job: its first row; one more at the end
	items   []int32     // of all rows, indices in kjob.items
	figures []float64   // of all items: value, then what it takes of what has a price
}

// pricedRow is the items of one job and GPU type that can be best.
type pricedRow struct {
	branch   int
	from, to int // in pricedView.items
	at       int // in pricedView.figures
}

// view prepares to let jobs choose at the prices.
func (k *knapsack) view(price []float64) {
	s := &k.pricedView
	priced, rate := make([][]int, len(k.dims)), make([][]float64, len(k.dims))
	for b, dims := range k.dims {
		for n, d := range dims {
			if price[d] > 0 {
				priced[b], rate[b] = append(priced[b], n), append(rate[b], price[d])
			}
		}
	}
	s.rate = rate
	if s.first != nil && slices.EqualFunc(priced, s.alive, slices.Equal) {
		return
	}
	s.alive, s.rows, s.first, s.items, s.figures = priced, s.rows[:0], s.first[:0], s.items[:0], s.figures[:0]
	s.rows = slices.Grow(s.rows, len(k.jobs)*len(k.dims))
	s.items, s.figures = slices.Grow(s.items, 16*cap(s.rows)), slices.Grow(s.figures, 32*cap(s.rows))
	for i := range k.jobs {
		s.first = append(s.first, len(s.rows))
		s.see(&k.jobs[i])
	}
	s.first = append(s.first, len(s.rows))
}

// see appends the rows of a job.
func (s *pricedView) see(j *kjob) {
	for from := 0; from < len(j.hull); {
		b := j.items[j.hull[from]].branch
		to := from + 1
		for to < len(j.hull) && j.items[j.hull[to]].branch == b {
			to++
		}
		l := pricedRow{branch: b, from: len(s.items), at: len(s.figures)}
		s.items = j.frontier(s.items, j.hull[from:to], s.alive[b])
		l.to = len(s.items)
		for _, c := range s.items[l.from:l.to] {
			it := &j.items[c]
			s.figures = append(s.figures, it.value)
			for _, n := range s.alive[b] {
				s.figures = append(s.figures, it.use[n])
			}
		}
		s.rows = append(s.rows, l)
		from = to
	}
}

// chosen returns the largest value less price of job i and its choice, the
// first of those that are equal. The knapsack must have a view of the prices.
func (k *knapsack) chosen(i int, mustRun bool) (float64, int) {
	j, s := &k.jobs[i], &k.pricedView
	best, at := j.idle, allocate.None
	if mustRun && len(j.items) > 0 {
		best = math.Inf(-1)
	}
	for _, l := range s.rows[s.first[i]:s.first[i+1]] {
		rate := s.rate[l.branch]
		figures := s.figures[l.at : l.at+(l.to-l.from)*(1+len(rate))]
		for n := l.from; n < l.to; n++ {
			v := figures[0]
			for d, p := range rate {
				v -= p * figures[1+d]
			}
			if figures = figures[1+len(rate):]; v > best {
				best, at = v, int(s.items[n])
			}
		}
	}
	return best, at
}

// frontier appends the items of a list, all of one GPU type, that can be best
// where only the listed positions of item.use have a price.
func (j *kjob) frontier(out []int32, list, priced []int) []int32 {
	if len(priced) > 1 {
		return append(out, int32s(list)...)
	}
	x := func(c int32) float64 { return 0 }
	if len(priced) == 1 {
		n := priced[0]
		x = func(c int32) float64 { return j.items[c].use[n] }
	}
	start := len(out)
	for at, c := range list {
		it := int32(c)
		if at > 0 && x(it) < x(int32(list[at-1])) { // not in order of what has a price: keep all
			return append(out[:start], int32s(list)...)
		}
		v := j.items[it].value
		if last := len(out) - 1; last >= start && v <= j.items[out[last]].value {
			continue // takes as much and is worth no more
		}
		for len(out)-start >= 1 && (x(out[len(out)-1]) == x(it) || len(out)-start >= 2 && j.below(out[len(out)-2], out[len(out)-1], it, x)) {
			out = out[:len(out)-1]
		}
		out = append(out, it)
	}
	return out
}

// below reports whether b lies on or below the line from a to c over x.
func (j *kjob) below(a, b, c int32, x func(int32) float64) bool {
	va, vb, vc := j.items[a].value, j.items[b].value, j.items[c].value
	return (vb-va)*(x(c)-x(a)) <= (vc-va)*(x(b)-x(a))
}

func int32s(list []int) []int32 {
	out := make([]int32, len(list))
	for n, c := range list {
		out[n] = int32(c)
	}
	return out
}
