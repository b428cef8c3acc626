package pollux

import (
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/elastic"
	"knee/data"
)

// adapted lets a policy of this project decide: it is shown what the agents
// predict, and its choice is put on nodes.
type adapted struct {
	policy  allocate.Policy
	gang    bool // it takes sizes and batches as they were asked for
	cluster *data.Cluster
	history *elastic.History
	names   map[string]int // node name to number
}

func newAdapted(s Settings, p allocate.Policy) *adapted {
	a := &adapted{policy: p, gang: policy.Gang(s.Policy), history: s.History, cluster: &data.Cluster{}, names: map[string]int{}}
	if a.history == nil {
		a.history = elastic.NewHistory()
	}
	for _, n := range s.Cluster.Nodes {
		if n.Drained {
			continue
		}
		n.CPUs, n.Memory = 0, 0 // nobody asks for any here
		a.names[n.Name] = len(a.cluster.Nodes)
		a.cluster.Nodes = append(a.cluster.Nodes, n)
	}
	return a
}

func (a *adapted) prepare(j *job) {
	j.learner, j.agent = a.history.Single(j.Job, j.app, a.cluster, j.limits, a.gang)
}

func (a *adapted) schedule(now float64, active []*job, h *slots) ([][]int, error) {
	s := allocate.State{Now: now, Cluster: a.cluster}
	standing := make([]place.Standing, len(active))
	for i, j := range active {
		standing[i].Current = a.shares(j)
		s.Jobs = append(s.Jobs, a.state(j, standing[i].Current, h))
	}
	choice, err := a.policy.Allocate(s)
	if err != nil {
		return nil, err
	}
	if err := choice.Check(s); err != nil {
		return nil, err
	}
	placed, _ := place.All(s, choice, standing, nil)
	out := make([][]int, len(active))
	for i, p := range placed {
		if p.Choice < 0 {
			continue
		}
		for _, share := range p.Nodes {
			out[i] = append(out[i], slices.Repeat([]int{a.names[share.Node]}, share.Workers)...)
		}
		// The same nodes in another order are no change.
		if slices.Equal(slices.Sorted(slices.Values(out[i])), slices.Sorted(slices.Values(active[i].nodes))) {
			out[i] = active[i].nodes
		}
	}
	return out, nil
}

// shares are the nodes a job stands on.
func (a *adapted) shares(j *job) []data.NodeShare {
	var out []data.NodeShare
	for i, n := range j.nodes {
		if i == 0 || j.nodes[i-1] != n {
			out = append(out, data.NodeShare{Node: a.cluster.Nodes[n].Name})
		}
		out[len(out)-1].Workers++
	}
	return out
}

// state is what a policy sees of a job.
func (a *adapted) state(j *job, nodes []data.NodeShare, h *slots) allocate.JobState {
	done := j.progress * j.limits.Initial
	j.learner.At(done)
	var config *data.Config
	v := simulate.View{Job: &j.Job, Nodes: nodes, Left: j.learner.Left(), Attained: j.attained,
		History: allocate.History{Restart: restartDelay, Restarts: j.restarts, Ran: j.ran, Tenant: j.Tenant, ByType: map[string]float64{h.gpuType: j.attained}}}
	if nodes != nil {
		v.Config = data.Config{GPUType: h.gpuType, Mode: data.AllReduce, Workers: len(j.nodes), Nodes: len(j.placement), Placement: j.placement}
		config = &v.Config
	}
	if done > 0 {
		v.History.Progress = done / (done + v.Left)
	}
	v.Options = j.learner.Options(config)
	return v.State()
}
