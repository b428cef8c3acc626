package solve

import (
	"math"

	"knee/allocate"
)

// tableCells bounds the table: the product of the GPUs of every type.
const tableCells = 1 << 12

// table solves a small knapsack exactly by dynamic programming over what is
// left of every GPU type: one item or none of every job. It reports false if
// anything but GPUs limits or the table were too large. Of several optima it
// returns the same one every time.
func (k *knapsack) table() (*selection, bool) {
	stride, room, cells := make([]int, len(k.dims)), make([]int, len(k.dims)), 1
	for b, dims := range k.dims {
		stride[b], room[b] = cells, int(k.limit[dims[0]])
		if cells *= room[b] + 1; cells > tableCells {
			return nil, false
		}
	}
	best, next := make([]float64, cells), make([]float64, cells) // by what is left
	pick := make([][]int16, len(k.jobs))
	for i := range k.jobs {
		pick[i] = make([]int16, cells)
		for at := range pick[i] {
			pick[i][at], next[at] = allocate.None, best[at]+k.jobs[i].idle
		}
		for c := range k.jobs[i].items {
			it := &k.jobs[i].items[c]
			for n, u := range it.use {
				if n > 0 && u > 0 {
					return nil, false
				}
			}
			back := it.size * stride[it.branch]
			for at := back; at < cells; at++ {
				if at/stride[it.branch]%(room[it.branch]+1) < it.size {
					continue
				}
				if v := best[at-back] + it.value; v > next[at] {
					next[at], pick[i][at] = v, int16(c)
				}
			}
		}
		best, next = next, best
	}
	s, at := k.empty(), cells-1
	for i := len(k.jobs) - 1; i >= 0; i-- {
		if c := int(pick[i][at]); c != allocate.None {
			s.set(i, c)
			it := &k.jobs[i].items[c]
			at -= it.size * stride[it.branch]
		}
	}
	return s, !math.IsNaN(s.value)
}
