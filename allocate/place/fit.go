package place

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
	"knee/internal/list"
)

// Fit is how many workers of one need each node of a GPU type holds when empty, most first.
type Fit []int

// FitOf returns the fit of the nodes of a GPU type that are not drained.
func FitOf(c *data.Cluster, gpuType string, need data.Need) (f Fit) {
	for _, n := range c.Nodes {
		if n.GPUType != gpuType || n.Drained {
			continue
		}
		if s := slotsFor(n.GPUs, allocate.Unlimited(n.CPUs), allocate.Unlimited(float64(n.Memory)), need); s > 0 {
			f = append(f, s)
		}
	}
	slices.SortFunc(f, func(a, b int) int { return b - a })
	return f
}

// Fits are the GPUs of the nodes by GPU type.
func Fits(c *data.Cluster) map[string]Fit {
	out := map[string]Fit{}
	for _, t := range c.GPUTypes() {
		out[t] = FitOf(c, t, data.Need{})
	}
	return out
}

// Total is the workers that all nodes hold together.
func (f Fit) Total() int { return list.Sum(f, func(workers int) int { return workers }) }

// Widest is the most workers of one node.
func (f Fit) Widest() int {
	if len(f) == 0 {
		return 0
	}
	return f[0]
}

// Packed fills one node after the other with w workers; nil if there is no room.
func (f Fit) Packed(w int) (p data.Placement) {
	for n := 0; w > 0; n++ {
		if n == len(f) {
			return nil
		}
		p = append(p, min(w, f[n]))
		w -= p[n]
	}
	return p
}

// Even divides w workers as equally as possible over the fewest nodes that can hold them,
// which needs the least traffic between nodes (Optimus, section 4.2, Theorem 1).
func (f Fit) Even(w int) (data.Placement, bool) {
	var room int
	for n, s := range f {
		if room += s; room >= w {
			return spreadOver(w, f[:n+1]), true
		}
	}
	return nil, false
}

// Equal divides w workers equally over the fewest nodes that allow it.
func (f Fit) Equal(w int) (data.Placement, bool) {
	for n, s := range f {
		if nodes := n + 1; w%nodes == 0 && w/nodes <= s {
			return slices.Repeat(data.Placement{w / nodes}, nodes), true
		}
	}
	return nil, false
}

// Holds reports whether an empty cluster could hold a shape.
func (f Fit) Holds(p data.Placement) bool {
	counts := Sorted(p)
	if len(counts) > len(f) {
		return false
	}
	for i, w := range counts {
		if w > f[i] {
			return false
		}
	}
	return true
}

// slotsFor is how many workers fit into free GPUs, cores and memory (bytes).
func slotsFor(gpus int, cpus, memory float64, need data.Need) int {
	n := float64(gpus)
	if need.CPUs > 0 {
		n = math.Min(n, math.Floor(cpus/need.CPUs+allocate.Slack))
	}
	if need.Memory > 0 {
		n = math.Min(n, math.Floor(memory/float64(need.Memory)))
	}
	return int(math.Max(n, 0))
}

// spreadOver divides w workers over nodes as equally as room, the most of each node,
// allows; it must suffice in all. Of equal nodes the first gets the odd worker.
func spreadOver(w int, room []int) data.Placement {
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
