package plan

import (
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
)

// nodeFit is how many workers of one need the nodes of one GPU type could hold if the
// cluster were empty, most first.
type nodeFit []int

// clusterFit is a cluster and its node fits.
type clusterFit struct {
	*data.Cluster
	types  []string
	fits   map[fitKey]nodeFit
	sizes  string        // see SizeSets; empty: all
	equal  bool          // every node of a job holds the same number of its workers
	shapes []data.Config // memory that the function of this name reuses
}

type fitKey struct {
	gpuType string
	need    data.Need
}

func newClusterFit(c *data.Cluster) *clusterFit {
	return &clusterFit{Cluster: c, types: c.GPUTypes(), fits: map[fitKey]nodeFit{}}
}

// nodeFit returns the fit of a GPU type for workers with a need.
func (r *clusterFit) nodeFit(gpuType string, need data.Need) nodeFit {
	key := fitKey{gpuType, need}
	h, ok := r.fits[key]
	if !ok {
		h = newNodeFit(r.Cluster, gpuType, need)
		r.fits[key] = h
	}
	return h
}

func newNodeFit(cluster *data.Cluster, gpuType string, need data.Need) nodeFit {
	var h nodeFit
	for _, n := range cluster.Nodes {
		if n.GPUType != gpuType || n.Drained {
			continue
		}
		if s := place.Slots(n.GPUs, allocate.Unlimited(n.CPUs), allocate.Unlimited(float64(n.Memory)), need); s > 0 {
			h = append(h, s)
		}
	}
	slices.SortFunc(h, func(a, b int) int { return b - a })
	return h
}

func (h nodeFit) total() int {
	var n int
	for _, s := range h {
		n += s
	}
	return n
}

func (h nodeFit) widest() int {
	if len(h) == 0 {
		return 0
	}
	return h[0]
}

// shape divides w workers as equally as possible over the fewest nodes that can hold
// them, which needs the least traffic between nodes (Optimus, section 4.2, Theorem 1).
func (h nodeFit) shape(w int) (data.Placement, bool) {
	var room int
	for n, s := range h {
		if room += s; room >= w {
			return place.Spread(w, h[:n+1]), true
		}
	}
	return nil, false
}

// equalShape divides w workers equally over the fewest nodes that allow it.
func (h nodeFit) equalShape(w int) (data.Placement, bool) {
	for n, s := range h {
		if nodes := n + 1; w%nodes == 0 && w/nodes <= s {
			return slices.Repeat(data.Placement{w / nodes}, nodes), true
		}
	}
	return nil, false
}

// holds reports whether an empty cluster could hold a shape.
func (h nodeFit) holds(p data.Placement) bool {
	counts := place.Sorted(p)
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
