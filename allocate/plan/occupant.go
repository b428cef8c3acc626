package plan

import (
	"fmt"
	"math"
	"slices"

	"knee/allocate/place"
	"knee/data"
)

// occupant is a running job that is not planned: it keeps its nodes, which the cluster
// of the other jobs lacks.
type occupant struct {
	nodes []data.NodeShare
	why   string // it is not planned
}

// occupy finds the jobs that are not planned and returns the cluster without what the
// running ones among them use. why has the known reasons by job.
func (p *prepared) occupy(why map[int]string) *data.Cluster {
	p.occupants = map[int]occupant{}
	free := *p.Cluster
	var placer *place.Placer
	for i, job := range p.Jobs {
		if p.oracles[i] != nil {
			continue
		}
		reason := why[i]
		if reason == "" {
			reason = "it has no fitted model"
		}
		switch {
		case p.lost[i] != "":
			p.infeasible[i] = fmt.Sprintf("%s, and node %q, on which it ran, is not in the cluster", reason, p.lost[i])
			continue
		case job.Current == nil:
			p.infeasible[i] = reason
			continue
		}
		nodes := currentShares(job)
		if nodes == nil { // not known, so it is placed somewhere
			if placer == nil {
				placer = place.New(&free)
			}
			var ok bool
			if nodes, ok = placer.Place(place.Request{Config: currentConfig(job), Resources: job.Resources}); !ok {
				p.infeasible[i] = reason + ", and what it runs on is more than the cluster has"
				continue
			}
		} else if job.Current.PS > 0 {
			nodes[0].PS = job.Current.PS
		}
		if len(p.occupants) == 0 {
			free.Nodes = slices.Clone(free.Nodes)
		}
		p.occupants[i] = occupant{nodes, reason}
		take(&free, nodes, job.Resources)
	}
	return &free
}

// take subtracts what runs on nodes from a cluster.
func take(c *data.Cluster, nodes []data.NodeShare, r data.Resources) {
	for _, s := range nodes {
		at := slices.IndexFunc(c.Nodes, func(n data.Node) bool { return n.Name == s.Node })
		if at < 0 {
			continue
		}
		n := &c.Nodes[at]
		w, ps := float64(s.Workers), float64(s.PS)
		n.GPUs = max(0, n.GPUs-s.Workers)
		if n.CPUs > 0 { // 0 would not limit
			n.CPUs = math.Max(n.CPUs-w*r.Worker.CPUs-ps*r.PS.CPUs, 1e-6)
		}
		if n.Memory > 0 {
			n.Memory = max(n.Memory-int64(s.Workers)*r.Worker.Memory-int64(s.PS)*r.PS.Memory, 1)
		}
	}
}

func (o occupant) planned(job data.Job) data.PlannedJob {
	c := currentConfig(job)
	return data.PlannedJob{Action: data.Keep, GPUType: c.GPUType, Mode: c.ModeOrDefault(), Workers: c.Workers, PS: c.PS,
		Placement: o.nodes, LocalBatch: c.LocalBatch, AccumSteps: c.AccumSteps, Layout: c.Layout, Reason: "not planned, stays as it is: " + o.why}
}
