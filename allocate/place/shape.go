package place

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// Slots is how many workers fit into free GPUs, cores and memory (bytes).
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

// Spread divides w workers over nodes as equally as room, the most workers of each
// node, allows. The counts are parallel to room, which must suffice in all. Of
// equal nodes the first gets the odd worker.
func Spread(w int, room []int) data.Placement {
	order := make([]int, len(room))
	for i := range order {
		order[i] = len(room) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return room[a] - room[b] })
	p := make(data.Placement, len(room))
	for n, i := range order {
		// The tightest node gets its equal part or all it can hold, the nodes after it
		// the rest.
		p[i] = min(room[i], w/(len(order)-n))
		w -= p[i]
	}
	return p
}

// Same reports whether two configurations differ at most in their batch, which changes
// without a restart, and in the order of nodes. An unknown shape equals any.
func Same(a, b data.Config) bool {
	return a.GPUType == b.GPUType && a.ModeOrDefault() == b.ModeOrDefault() && a.Workers == b.Workers && a.PS == b.PS && a.Layout == b.Layout &&
		(len(a.Placement) == 0 || len(b.Placement) == 0 || len(a.Placement) == len(b.Placement) && slices.Equal(Sorted(a.Placement), Sorted(b.Placement)))
}

// Sorted returns the counts of a placement, largest first.
func Sorted(p data.Placement) data.Placement {
	out := slices.Clone(p)
	slices.SortFunc(out, func(a, b int) int { return b - a })
	return out
}
