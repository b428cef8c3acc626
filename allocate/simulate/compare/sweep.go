package compare

import (
	"fmt"
	"math"

	"knee/allocate/simulate"
	"knee/data"
)

// NewCase is a workload whose jobs arrive load times as fast, on a cluster of size
// times as many nodes, at least one. Factors other than 1 are added to the name.
func NewCase(name string, jobs []simulate.Job, c *data.Cluster, load, size float64) Case {
	if load != 1 {
		name += fmt.Sprintf("@load=%g", load)
		faster := make([]simulate.Job, len(jobs))
		for i, j := range jobs {
			j.Submit = math.Round(j.Submit / load)
			faster[i] = j
		}
		jobs = faster
	}
	if size != 1 {
		name += fmt.Sprintf("@size=%g", size)
		c = resized(c, size)
	}
	return Case{Name: name, Jobs: jobs, Cluster: c}
}

// resized repeats the nodes of every type, in order, or leaves the last out.
func resized(c *data.Cluster, size float64) *data.Cluster {
	out := &data.Cluster{Source: c.Source}
	for _, t := range c.GPUTypes() {
		var nodes []data.Node
		for _, n := range c.Nodes {
			if n.GPUType == t {
				nodes = append(nodes, n)
			}
		}
		for i := range max(1, int(math.Round(size*float64(len(nodes))))) {
			n := nodes[i%len(nodes)]
			if round := i / len(nodes); round > 0 {
				n.Name = fmt.Sprintf("%s.%d", n.Name, round+1)
			}
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}
