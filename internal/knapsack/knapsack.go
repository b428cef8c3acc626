// Package knapsack solves small multiple-choice knapsacks exactly: one item
// or none of every group, within a limit for each kind of resource.
package knapsack

// Item is one choice of a group: Size units of one Kind of resource.
type Item struct {
	Kind  int
	Size  int
	Value float64
}

// Choose returns for each group the index of an item, −1 for none, so that
// the sum of values is the largest possible and for every kind the sizes add
// up to at most its limit. An item of no positive value is not chosen. It
// takes time and memory in proportion to the items times Π (limit + 1); of
// several optima it returns the same one every time.
func Choose(groups [][]Item, limits []int) []int {
	stride, cells := make([]int, len(limits)), 1
	for k, l := range limits {
		stride[k] = cells
		cells *= l + 1
	}
	best := make([]float64, cells) // by what is left of every kind
	next := make([]float64, cells)
	pick := make([][]int16, len(groups))
	used := make([]int, cells*len(limits)) // what is left, spelled out
	for c := range cells {
		for k, l := range limits {
			used[c*len(limits)+k] = c / stride[k] % (l + 1)
		}
	}
	for g, items := range groups {
		pick[g] = make([]int16, cells)
		copy(next, best)
		for c := range pick[g] {
			pick[g][c] = -1
		}
		for n, it := range items {
			if it.Value <= 0 || it.Size > limits[it.Kind] {
				continue
			}
			back := it.Size * stride[it.Kind]
			for c := back; c < cells; c++ {
				if used[c*len(limits)+it.Kind] < it.Size {
					continue
				}
				if v := best[c-back] + it.Value; v > next[c] {
					next[c], pick[g][c] = v, int16(n)
				}
			}
		}
		best, next = next, best
	}
	out := make([]int, len(groups))
	at := cells - 1
	for g := len(groups) - 1; g >= 0; g-- {
		n := int(pick[g][at])
		out[g] = n
		if n >= 0 {
			it := groups[g][n]
			at -= it.Size * stride[it.Kind]
		}
	}
	return out
}
