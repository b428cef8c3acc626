package allocate

import "slices"

// focus prepares to let jobs choose at the prices. Of a dozen resources two
// or three are scarce and have a price; what an item takes of the others does
// not matter. Where one price is left for a GPU type, only the vertices of
// the upper concave envelope over that resource can be best: a handful of
// hundreds of combinations of workers and parameter servers.
func (k *knapsack) focus(price []float64) {
	priced := make([][]int, len(k.dims))
	for b, dims := range k.dims {
		for n, d := range dims {
			if price[d] > 0 {
				priced[b] = append(priced[b], n)
			}
		}
	}
	if k.live != nil && slices.EqualFunc(priced, k.alive, slices.Equal) {
		return
	}
	k.alive = priced
	if k.live == nil {
		k.live = make([][]int32, len(k.jobs))
	}
	for i := range k.jobs {
		k.live[i] = k.jobs[i].candidates(k.live[i][:0], priced)
	}
}

// candidates appends the items that can be best where only the listed
// positions of item.use have a price.
func (j *kjob) candidates(out []int32, priced [][]int) []int32 {
	for from := 0; from < len(j.corners); {
		b := j.items[j.corners[from]].branch
		to := from + 1
		for to < len(j.corners) && j.items[j.corners[to]].branch == b {
			to++
		}
		out = j.frontier(out, j.corners[from:to], priced[b])
		from = to
	}
	return out
}

// frontier appends what candidates wants of the items of one GPU type.
func (j *kjob) frontier(out []int32, list, priced []int) []int32 {
	x := func(c int32) float64 { return 0 }
	switch len(priced) {
	case 0:
	case 1:
		n := priced[0]
		x = func(c int32) float64 { return j.items[c].use[n] }
	default:
		for _, c := range list {
			out = append(out, int32(c))
		}
		return out
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
