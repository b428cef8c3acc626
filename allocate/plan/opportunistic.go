package plan

import (
	"cmp"
	"maps"
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
)

// opportunistic plans the other jobs with the policy, then opportunistic ones, by
// marginal gain, on the GPUs that stay idle (AntMan, Xiao et al., OSDI 2020, section
// 4.1).
func opportunistic(pr Problem, policy allocate.Policy, solve func(Problem, allocate.Policy) (*data.Plan, error)) (*data.Plan, error) {
	claim := slices.DeleteFunc(slices.Clone(pr.Jobs), func(j data.Job) bool { return j.Opportunistic })
	if len(claim) == len(pr.Jobs) || len(claim) == 0 {
		return solve(pr, policy)
	}
	if err := checkProblem(pr); err != nil {
		return nil, err
	}
	first := pr
	first.Jobs, first.Cluster = claim, yielding(pr)
	made, err := solve(first, policy)
	if err != nil {
		return nil, err
	}
	rest := pr
	rest.leftover, rest.price = true, pricesOf(pr.Cluster)
	rest.Jobs = slices.DeleteFunc(slices.Clone(pr.Jobs), func(j data.Job) bool { return !j.Opportunistic })
	rest.FairSlots = cmp.Or(pr.FairSlots, pr.Cluster.Slots())
	left := *pr.Cluster
	left.Nodes = slices.Clone(left.Nodes)
	for i, j := range made.Jobs {
		take(&left, j.Placement, claim[i].Resources)
	}
	rest.Cluster, rest.Tenants = &left, remaining(pr.Tenants, made.Jobs, claim)
	room := place.New(&left)
	gone := func(s data.NodeShare) bool { // or drained: a job there starts anew as any other does
		return !slices.ContainsFunc(left.Nodes, func(n data.Node) bool { return n.Name == s.Node && !n.Drained })
	}
	displaced := map[string][]data.NodeShare{} // by job: the nodes that other jobs take
	rest.ran = map[string]*data.Current{}
	for i := range rest.Jobs {
		job := &rest.Jobs[i]
		now := job.Current.Shares()
		if len(now) == 0 || slices.ContainsFunc(now, gone) {
			continue
		}
		workers := data.Config{GPUType: job.Current.GPUType, Workers: job.Current.Placement.Workers()}
		crossed := func(s data.NodeShare) bool {
			return slices.ContainsFunc(left.Nodes, func(n data.Node) bool { return n.Name == s.Node && n.Spanned })
		}
		if pr.Apart && len(now) > 1 && slices.ContainsFunc(now, crossed) || room.Keep([]place.Request{{Config: workers, Resources: job.Resources, Current: now}})[0] == nil {
			displaced[job.Name], rest.ran[job.Name], job.Current = now, job.Current, nil
		}
	}
	others, err := solve(rest, nil)
	if err != nil {
		return nil, err
	}
	made.Utilization.GPUsUsed += others.Utilization.GPUsUsed
	for _, w := range others.Warnings { // what both say is of the cluster or its tenants
		if !slices.Contains(made.Warnings, w) {
			made.Warnings = append(made.Warnings, w)
		}
	}
	var all []data.PlannedJob // in the order of the problem
	for _, job := range pr.Jobs {
		from := &made.Jobs
		if job.Opportunistic {
			from = &others.Jobs
		}
		j := (*from)[0]
		*from = (*from)[1:]
		if was, ok := displaced[j.Name]; ok {
			j.Was = was
			j.Action = map[data.Action]data.Action{data.Start: data.Move, data.Wait: data.Pause}[j.Action]
			if j.Action == data.Pause {
				j.Reason = "other jobs take its nodes; " + j.Reason
			}
			if r := job.RestartSeconds; j.Action == data.Move && j.Finish.Mean > 0 {
				j.Finish, j.Cost = j.Finish.Plus(r), j.Cost.Plus(r*rest.price[j.GPUType]*float64(j.Workers)/3600)
			}
		}
		all = append(all, j)
	}
	made.Jobs = all
	return made, nil
}

// yielding is the cluster with the nodes of opportunistic jobs after the others of their
// GPU type: of equal nodes they are taken last.
func yielding(pr Problem) *data.Cluster {
	busy := map[string]bool{} // nodes where one runs
	for _, j := range pr.Jobs {
		for _, s := range j.Current.Shares() {
			busy[s.Node] = busy[s.Node] || j.Opportunistic
		}
	}
	c := *pr.Cluster
	ofType := map[string][]data.Node{}
	for _, last := range []bool{false, true} {
		for _, n := range c.Nodes {
			if busy[n.Name] == last {
				ofType[n.GPUType] = append(ofType[n.GPUType], n)
			}
		}
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i, n := range c.Nodes {
		c.Nodes[i], ofType[n.GPUType] = ofType[n.GPUType][0], ofType[n.GPUType][1:]
	}
	return &c
}

// permitted reports whether quotas have room for what a running job holds.
func permitted(tenants []data.Tenant, job data.Job) bool {
	s := allocate.State{Tenants: byName(tenants)}
	return !slices.ContainsFunc(s.Quotas(job.Tenant, job.Current.GPUType), func(q allocate.Quota) bool {
		return q.Most < job.Current.Placement.Workers()
	})
}

func byName(tenants []data.Tenant) map[string]data.Tenant {
	out := map[string]data.Tenant{}
	for _, t := range tenants {
		out[t.Name] = t
	}
	return out
}

// remaining is what planned jobs leave of the quotas of their tenants and those above.
func remaining(tenants []data.Tenant, planned []data.PlannedJob, jobs []data.Job) []data.Tenant {
	out := slices.Clone(tenants)
	byName := map[string]*data.Tenant{}
	for i := range out {
		out[i].Quota = maps.Clone(out[i].Quota)
		byName[out[i].Name] = &out[i]
	}
	for i, j := range planned {
		for t := byName[jobs[i].Tenant]; t != nil; t = byName[t.Parent] {
			for _, l := range t.Limits(j.GPUType) {
				t.Quota[l.Of] = max(0, l.Most-j.Workers)
			}
		}
	}
	return out
}
