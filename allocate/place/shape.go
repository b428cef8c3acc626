package place

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// Slots is how many workers fit what is free.
func Slots(gpus int, cpus, memory float64, need data.Need) int {
	n := float64(gpus)
	if need.CPUs > 0 {
		n = math.Min(n, math.Floor(cpus/need.CPUs+allocate.Slack))
	}
	if need.Memory > 0 {
		n = math.Min(n, math.Floor(memory/float64(need.Memory)))
	}
	return int(math.Max(n, 0))
}

// Spread shares w workers out over nodes of the given room, as equally as
// the room allows, and returns counts parallel to room. The room must
// suffice. Of nodes alike the earlier gets the odd worker.
func Spread(w int, room []int) data.Placement {
	order := make([]int, len(room))
	for i := range order {
		order[i] = len(room) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return room[a] - room[b] })
	p := make(data.Placement, len(room))
	for n, i := range order {
		// The tightest node comes first: it takes its equal part or all it
		// can, and what it cannot is shared by those after it.
		p[i] = min(room[i], w/(len(order)-n))
		w -= p[i]
	}
	return p
}

// Sorted returns the counts of a placement, largest first.
func Sorted(p data.Placement) data.Placement {
	out := slices.Clone(p)
	slices.SortFunc(out, func(a, b int) int { return b - a })
	return out
}
