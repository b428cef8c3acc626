package solve

import (
	"math"

	"knee/allocate"
	"knee/internal/list"
)

// Limits of the table: cells, the product of the GPUs of each type plus one, and steps, a
// tenth of a second. A cluster of a few dozen nodes is within.
const (
	tableCells = 1 << 12
	tableWork  = 1 << 26
)

// table solves a small knapsack exactly by dynamic programming over the GPUs left of each
// type. With mustRun every job that has items gets one. It returns nil if resources other
// than GPUs limit, the table would be too large, or mustRun cannot be met.
func (k *knapsack) table(mustRun bool) *selection {
	stride, room, cells := map[int]int{}, map[int]int{}, 1 // by dimension of the GPUs
	other := false
	k.eachUse(func(int, int, float64, *float64) { other = true })
	if other {
		return nil
	}
	for _, dims := range k.dims {
		if _, known := stride[dims[0]]; !known {
			stride[dims[0]], room[dims[0]] = cells, int(k.limit[dims[0]])
			if cells *= room[dims[0]] + 1; cells > tableCells {
				return nil
			}
		}
	}
	if cells*list.Sum(k.jobs, func(j kjob) int { return len(j.items) }) > tableWork {
		return nil
	}
	best, next := make([]float64, cells), make([]float64, cells) // by what is left
	pick := make([][]int16, len(k.jobs))
	for i := range k.jobs {
		j := &k.jobs[i]
		idle := j.idle
		if mustRun && len(j.items) > 0 {
			idle = math.Inf(-1)
		}
		pick[i] = make([]int16, cells)
		for at := range pick[i] {
			pick[i][at], next[at] = allocate.None, best[at]+idle
		}
		for c := range j.items {
			it := &j.items[c]
			gpu := k.dims[it.branch][0]
			step, size := stride[gpu], room[gpu]+1
			for at := it.size * step; at < cells; at++ {
				if at/step%size < it.size {
					continue
				}
				if v := best[at-it.size*step] + it.value; v > next[at] {
					next[at], pick[i][at] = v, int16(c)
				}
			}
		}
		best, next = next, best
	}
	s, at := k.empty(), cells-1
	if math.IsInf(best[at], -1) {
		return nil
	}
	for i := len(k.jobs) - 1; i >= 0; i-- {
		if c := int(pick[i][at]); c != allocate.None {
			s.set(i, c)
			it := &k.jobs[i].items[c]
			at -= it.size * stride[k.dims[it.branch][0]]
		}
	}
	return s
}
