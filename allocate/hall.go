package allocate

import (
	"math"
	"slices"

	"knee/data"
)

// hall is the nodes of one GPU type as one job sees them when the cluster is
// empty: how many of its workers each could hold, most first.
type hall []int

// rooms is a cluster with the halls that were asked for: jobs are many, and
// needs and GPU types few.
type rooms struct {
	*data.Cluster
	types []string
	halls map[hallKey]hall
	sizes string // see SizeSets; empty: all

	shapes []data.Config // memory that the function of this name uses again
}

type hallKey struct {
	gpuType string
	need    data.Need
}

func newRooms(c *data.Cluster) *rooms {
	return &rooms{Cluster: c, types: c.GPUTypes(), halls: map[hallKey]hall{}}
}

// hall returns the hall of a GPU type for workers of a need.
func (r *rooms) hall(gpuType string, need data.Need) hall {
	key := hallKey{gpuType, need}
	h, ok := r.halls[key]
	if !ok {
		h = newHall(r.Cluster, gpuType, need)
		r.halls[key] = h
	}
	return h
}

// newHall counts, on every node of a type that is not drained, the workers
// that its slots, cores and memory allow.
func newHall(cluster *data.Cluster, gpuType string, need data.Need) hall {
	var h hall
	for _, n := range cluster.Nodes {
		if n.GPUType != gpuType || n.Drained {
			continue
		}
		if s := slots(n.GPUs, orInf(n.CPUs), orInf(float64(n.Memory)), need); s > 0 {
			h = append(h, s)
		}
	}
	slices.SortFunc(h, func(a, b int) int { return b - a })
	return h
}

// slots is how many workers fit what is free.
func slots(gpus int, cpus, memory float64, need data.Need) int {
	n := float64(gpus)
	if need.CPUs > 0 {
		n = math.Min(n, math.Floor(cpus/need.CPUs+slack))
	}
	if need.Memory > 0 {
		n = math.Min(n, math.Floor(memory/float64(need.Memory)))
	}
	return int(math.Max(n, 0))
}

func (h hall) total() int {
	var n int
	for _, s := range h {
		n += s
	}
	return n
}

func (h hall) widest() int {
	if len(h) == 0 {
		return 0
	}
	return h[0]
}

// shape is how w workers stand on as few nodes as can hold them, in counts
// as equal as the nodes allow (Optimus, section 4.2, Theorem 1: equal counts
// on the fewest nodes need the least traffic between nodes).
func (h hall) shape(w int) (data.Placement, bool) {
	var room int
	for n, s := range h {
		if room += s; room >= w {
			return spread(w, h[:n+1]), true
		}
	}
	return nil, false
}

// spread shares w workers out over nodes of the given room, as equally as
// the room allows, and returns counts parallel to room. The room must
// suffice. Of nodes alike the earlier gets the odd worker.
func spread(w int, room []int) data.Placement {
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

// holds reports whether an empty cluster could hold a shape.
func (h hall) holds(p data.Placement) bool {
	counts := sortedDesc(p)
	if len(counts) > len(h) {
		return false
	}
	for i, w := range counts {
		if w > h[i] {
			return false
		}
	}
	return true
}

// sortedDesc returns the counts of a placement, largest first.
func sortedDesc(p data.Placement) data.Placement {
	out := slices.Clone(p)
	slices.SortFunc(out, func(a, b int) int { return b - a })
	return out
}
