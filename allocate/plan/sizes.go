package plan

import "slices"

// SizeSets lists the sets of sizes that a problem can be restricted to. What
// a job runs on now is always offered.
//
//	all    every size worth looking at
//	pow2   powers of two
//	nodes  powers of two on one node, then whole nodes, as in Sia
//	       (Jayaram Subramanya et al., SOSP 2023, section 3.2)
func SizeSets() []string { return []string{"all", "pow2", "nodes"} }

// offered keeps the sizes of the set that the problem asks for.
func (r *clusterFit) offered(sizes []int, h nodeFit) []int {
	node := max(1, h.widest())
	switch r.sizes {
	case "pow2":
		return slices.DeleteFunc(sizes, func(w int) bool { return w&(w-1) != 0 })
	case "nodes":
		return slices.DeleteFunc(sizes, func(w int) bool { return w%node != 0 && (w > node || w&(w-1) != 0) })
	}
	return sizes
}
