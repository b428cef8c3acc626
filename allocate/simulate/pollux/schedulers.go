package pollux

import (
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/simulate"
	"knee/data"
)

// scheduler returns, once a round, the nodes of every active job by number, one entry
// per worker, nil for none. Jobs are in the order of the workload and have the nodes
// they were given before.
type scheduler func(active []*job, h *slots) ([][]int, error)

// stand makes a scheduler a policy of the replay.
func (h *slots) stand(schedule scheduler) simulate.Stand {
	return func(_ float64, jobs []*simulate.Job) ([]place.Placed, error) {
		active := make([]*job, len(jobs))
		for i := range jobs {
			active[i] = jobs[i].Course.(*job)
		}
		next, err := schedule(active, h)
		if err == nil {
			err = h.check(active, next)
		}
		if err != nil {
			return nil, err
		}
		out := make([]place.Placed, len(jobs))
		for i, nodes := range next {
			active[i].nodes, out[i].Choice = nodes, allocate.None
			if nodes != nil {
				out[i].Nodes, out[i].Choice = h.shares(nodes), 0
				out[i].Option.Config = data.Config{GPUType: h.gpuType, Mode: data.AllReduce, Workers: len(nodes)}
			}
		}
		return out, nil
	}
}

// shares are the workers on each of the nodes, in order of being taken.
func (h *slots) shares(nodes []int) (out []data.NodeShare) {
	for i, n := range nodes {
		if i == 0 || nodes[i-1] != n {
			out = append(out, data.NodeShare{Node: h.Nodes[n].Name})
		}
		out[len(out)-1].Workers++
	}
	return out
}

// free is what the kept allocations leave on every node.
func (h *slots) free(kept [][]int) []int {
	out := slices.Clone(h.gpus)
	for _, nodes := range kept {
		for _, n := range nodes {
			out[n]--
		}
	}
	return out
}

// worstFit takes n GPUs from the nodes with most free ones, the first of
// equals, and books them; nil if there are not enough.
func worstFit(free []int, n int) []int {
	var out []int
	for n > 0 {
		best := slices.Index(free, slices.Max(free))
		take := min(free[best], n)
		if take == 0 {
			return nil
		}
		free[best] -= take
		n -= take
		out = append(out, slices.Repeat([]int{best}, take)...)
	}
	return out
}
