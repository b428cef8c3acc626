package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate/place"
	"knee/data"
)

// occupant is a running job that is not planned: it keeps nodes, which others then lack.
type occupant struct {
	nodes []data.NodeShare
	why   string // it is not planned
}

// occupy finds the jobs that are not planned and returns the cluster without what the
// running ones among them use; an opportunistic one beyond its quota stops. why has the
// known reasons by job.
func (p *prepared) occupy(why map[int]string) *data.Cluster {
	p.occupants = map[int]occupant{}
	free := *p.Cluster
	free.Nodes = slices.Clone(free.Nodes)
	quotas := p.Tenants
	stay := func(i int, nodes []data.NodeShare) {
		if p.leftover && !permitted(quotas, p.Jobs[i]) {
			p.infeasible[i] = "other jobs take the quota of its tenant; " + why[i]
			return
		}
		o := occupant{nodes, why[i]}
		p.occupants[i] = o
		quotas = remaining(quotas, []data.PlannedJob{o.planned(p.Jobs[i])}, p.Jobs[i:])
		take(&free, nodes, p.Jobs[i].Resources)
	}
	var unknown []int           // that run on unknown nodes
	var planned []place.Request // on nodes where those do not run
	for i, job := range p.Jobs {
		nodes := job.Current.Parts()
		if p.oracles[i] != nil {
			if nodes != nil {
				planned = append(planned, place.Request{Config: job.Current.Config(), Resources: job.Resources, Current: nodes})
			}
			continue
		}
		why[i] = cmp.Or(why[i], "it has no fitted model")
		switch {
		case p.lost[i] != "":
			p.infeasible[i] = fmt.Sprintf("%s, and node %q, on which it ran, is not in the cluster", why[i], p.lost[i])
		case job.Current == nil:
			p.infeasible[i] = why[i]
		case nodes == nil:
			unknown = append(unknown, i)
		default:
			if len(job.Current.PSNodes) == 0 { // else their nodes are known
				nodes[0].PS = job.Current.PS
			}
			stay(i, nodes)
		}
	}
	if len(unknown) == 0 {
		return &free
	}
	placer := place.New(&free)
	placer.Keep(planned)
	for _, i := range unknown {
		job := p.Jobs[i]
		if nodes, ok := placer.Place(place.Request{Config: job.Current.Config(), Resources: job.Resources}); ok {
			stay(i, nodes)
		} else {
			p.infeasible[i] = why[i] + ", and what it runs on is more than the other jobs leave of the cluster"
		}
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
		n.Spanned = n.Spanned || len(nodes) > 1
		if n.CPUs > 0 { // 0 would not limit
			n.CPUs = math.Max(n.CPUs-w*r.Worker.CPUs-ps*r.PS.CPUs, 1e-6)
		}
		if n.Memory > 0 {
			n.Memory = max(n.Memory-int64(s.Workers)*r.Worker.Memory-int64(s.PS)*r.PS.Memory, 1)
		}
	}
}

func (o occupant) planned(job data.Job) data.PlannedJob {
	out := entryOf(data.Keep, job.Current.Config(), o.nodes)
	out.Reason = "not planned, stays as it is: " + o.why
	return out
}

// entryOf is the entry of a job that runs.
func entryOf(action data.Action, c data.Config, nodes []data.NodeShare) data.PlannedJob {
	return data.PlannedJob{Action: action, GPUType: c.GPUType, Mode: c.ModeOrDefault(), Workers: c.Workers, PS: c.PS, Placement: nodes,
		LocalBatch: c.LocalBatch, AccumSteps: c.AccumSteps, Extra: c.Extra, Layout: c.Layout}
}
