package plan

import (
	"slices"

	"knee/allocate/solve"
	"knee/data"
)

// prices are the shadow prices of GPU types; with Problem.Resolve also the change of
// value with one GPU more and one less, which agrees up to the gap.
func (p *prepared) prices(best solve.Solution) []data.GPUPrice {
	var out []data.GPUPrice
	for _, t := range p.state.Cluster.GPUTypes() {
		price, known := best.Prices[t]
		if !known {
			continue
		}
		x := data.GPUPrice{GPUType: t, PerGPU: price}
		if p.Resolve {
			x.OneMore, x.OneLess = p.resolved(best, t, 1), p.resolved(best, t, -1)
		}
		out = append(out, x)
	}
	return out
}

// resolved solves again with one GPU of a type more (1) or less (−1) and returns the
// change of value, nil if that cannot be solved.
func (p *prepared) resolved(best solve.Solution, gpuType string, by int) *float64 {
	s := p.state
	nodes := slices.Clone(s.Cluster.Nodes)
	at := slices.IndexFunc(nodes, func(n data.Node) bool { return n.GPUType == gpuType && !n.Drained && n.GPUs+by > 0 })
	if at < 0 {
		return nil
	}
	nodes[at].GPUs += by
	s.Cluster = &data.Cluster{Nodes: nodes}
	again, err := solve.Maximise(s)
	if err != nil {
		return nil
	}
	change := float64(by) * (again.Value - best.Value)
	return &change
}

// worth is nil for a job without options.
func (p *prepared) worth(i int, best solve.Solution) *data.Worth {
	if len(p.state.Jobs[i].Options) == 0 {
		return nil
	}
	return &best.Worth[i]
}
