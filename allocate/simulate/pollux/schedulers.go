package pollux

import (
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/simulate"
	"knee/data"
)

// scheduler returns, once a round, the workers of every active job, and the order in
// which jobs whose number changes are placed. Jobs are in the order of the workload.
type scheduler func(active []*job, h *slots) (workers, order []int, err error)

// stand makes a scheduler a policy of the replay: jobs that keep their workers keep
// their nodes, others are spread over the nodes with most free GPUs.
func (h *slots) stand(schedule scheduler) simulate.Stand {
	return func(_ float64, jobs []*simulate.Job) ([]place.Placed, error) {
		active := make([]*job, len(jobs))
		for i := range jobs {
			active[i] = jobs[i].Course.(*job)
		}
		workers, order, err := schedule(active, h)
		if err != nil {
			return nil, err
		}
		var free []int // GPUs by node
		for _, n := range h.Nodes {
			free = append(free, n.GPUs)
		}
		for i, j := range active {
			if len(j.nodes) != workers[i] {
				j.nodes = nil
			}
			for _, n := range j.nodes {
				free[n]--
			}
		}
		for _, i := range order {
			if j := active[i]; j.nodes == nil {
				j.nodes = worstFit(free, workers[i])
			}
		}
		out := make([]place.Placed, len(jobs))
		for i, j := range active {
			out[i].Choice = allocate.None
			if j.nodes != nil {
				out[i].Nodes, out[i].Choice = h.shares(j.nodes), 0
				out[i].Option.Config = data.Config{GPUType: h.gpuType, Mode: data.AllReduce, Workers: workers[i]}
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

// worstFit takes n GPUs from the nodes with most free ones, the first of equals; nil: not
// enough.
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
