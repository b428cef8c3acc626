package simulate

import (
	"slices"

	"knee/data"
)

// Slots are the GPUs of a cluster by type, without drained nodes.
type Slots struct {
	Types  []string
	GPUs   map[string][]int // of every node, in its order
	Total  map[string]int
	Widest map[string]int // the most on one node
}

// NewSlots counts the GPUs of a cluster.
func NewSlots(c *data.Cluster) *Slots {
	s := &Slots{Types: c.GPUTypes(), GPUs: map[string][]int{}, Total: map[string]int{}, Widest: map[string]int{}}
	for _, n := range c.Nodes {
		if !n.Drained {
			s.GPUs[n.GPUType] = append(s.GPUs[n.GPUType], n.GPUs)
			s.Total[n.GPUType] += n.GPUs
			s.Widest[n.GPUType] = max(s.Widest[n.GPUType], n.GPUs)
		}
	}
	return s
}

// Packed puts k workers on as few nodes as possible, given the GPUs of each;
// nil if there are not enough.
func Packed(gpus []int, k int) data.Placement {
	var p data.Placement
	for _, g := range slices.Backward(slices.Sorted(slices.Values(gpus))) {
		if k == 0 {
			break
		}
		if take := min(k, g); take > 0 {
			p = append(p, take)
			k -= take
		}
	}
	if k > 0 {
		return nil
	}
	return p
}
