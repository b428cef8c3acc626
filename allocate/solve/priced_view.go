package solve

import (
	"math"
	"slices"

	"knee/allocate"
)

// pricedView is what the choice at prices reads of all hulls, in the order in which
// it is read, and only for resources with a price. With thousands of jobs, memory
// access takes most of the time of the dual: without it [Maximise] takes twice as long.
type pricedView struct {
	priced  [][]int     // by branch: the positions of item.use with a price
	rate    [][]float64 // parallel to priced: the prices
	first   []int       // by job: where its figures begin
	figures []float64   // of every item of a hull: value, then its use of what has a price
}

// view prepares the choices at the prices.
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
	if s.first != nil && slices.EqualFunc(priced, s.priced, slices.Equal) {
		return
	}
	s.priced, s.first, s.figures = priced, s.first[:0], s.figures[:0]
	for i := range k.jobs {
		s.first = append(s.first, len(s.figures))
		j := &k.jobs[i]
		for _, c := range j.hull {
			it := &j.items[c]
			s.figures = append(s.figures, it.value)
			for _, n := range priced[it.branch] {
				s.figures = append(s.figures, it.use[n])
			}
		}
	}
}

// chosen returns the largest value less price of job i and its choice, the
// first of equal ones, at the prices of the last call of view.
func (k *knapsack) chosen(i int, mustRun bool) (float64, int) {
	j := &k.jobs[i]
	best, at := j.idle, allocate.None
	if mustRun && len(j.items) > 0 {
		best = math.Inf(-1)
	}
	figures, n := k.pricedView.figures[k.pricedView.first[i]:], 0
	for _, r := range j.runs {
		rate := k.pricedView.rate[r.branch]
		for ; n < r.to; n++ {
			v := figures[0]
			for d, p := range rate {
				v -= p * figures[1+d]
			}
			if figures = figures[1+len(rate):]; v > best {
				best, at = v, j.hull[n]
			}
		}
	}
	return best, at
}
