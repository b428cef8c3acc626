package pollux

import (
	"fmt"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/agent"
	"knee/allocate/simulate/measured"
	"knee/data"
	"knee/internal/list"
)

// Settings says how to replay a workload.
type Settings struct {
	Cluster  *data.Cluster // nodes of one GPU type
	Profiles *measured.Profiles
	Policy   string // one of [Policies]
	Alone    bool   // see [measured.History]
}

// slots is the cluster as the published simulator has it: nodes by number.
type slots struct {
	*data.Cluster
	gpuType string
}

func newSlots(c *data.Cluster) (*slots, error) {
	h := &slots{Cluster: &data.Cluster{Source: c.Source}}
	for _, n := range c.Nodes {
		if !n.Drained && n.GPUs > 0 {
			h.Nodes = append(h.Nodes, n)
		}
	}
	types := h.GPUTypes()
	switch len(types) {
	case 0:
		return nil, &data.InputError{Source: c.Source, Found: "no worker slots", Want: "at least one"}
	case 1:
		h.gpuType = types[0]
		return h, nil
	}
	return nil, &data.InputError{Source: c.Source, Found: "GPU types " + strings.Join(types, ", "),
		Want: "nodes of one type: the published simulator knows no other, use the native semantics"}
}

// Prepare sets up the replay of a workload by [simulate.Run].
func Prepare(workload []simulate.Job, s Settings) (jobs []simulate.Job, set simulate.Settings, err error) {
	h, err := newSlots(s.Cluster)
	if err != nil {
		return nil, set, err
	}
	set = simulate.Settings{Cluster: h.Cluster, Rules: simulate.Rules{Interval: round, RestartSeconds: restartDelay}, Rounds: true}
	switch s.Policy {
	case "tiresias", "tiresias-las":
		set.Stand = h.stand((&tiresias{served: map[*job]float64{}}).schedule)
	case "optimus":
		set.Stand = h.stand((&optimus{cache: map[predictKey]float64{}}).schedule)
	default:
		if set.Policy, err = policy.New(s.Policy); err != nil {
			return nil, set, &data.UnknownError{What: "policy", Name: s.Policy, Known: Policies()}
		}
	}
	history := &measured.History{Alone: s.Alone}
	for _, w := range workload {
		app, err := s.Profiles.App(w.Application)
		if err != nil {
			return nil, set, fmt.Errorf("%s: job %q: %w", w.Source, w.Name, err)
		}
		j, err := newJob(w, app, h.gpuType)
		if err != nil {
			return nil, set, err
		}
		if set.Stand == nil {
			j.learner, err = history.Learner(w, app, h.Cluster, policy.Gang(s.Policy), func(*measured.Table) agent.Limits { return j.limits })
			if err != nil {
				return nil, set, err
			}
			w.Learner, j.agent = j.learner, j.learner.Agents[h.gpuType]
		}
		w.Course, w.Work = j, app.Progress(app.Epochs)*app.Initial
		jobs = append(jobs, w)
	}
	return jobs, set, nil
}

// Policies lists the names [Settings] takes: tiresias and optimus as published, and those
// of package policy.
func Policies() []string {
	return slices.Sorted(slices.Values(append(policy.Names(), "tiresias")))
}

// scheduler returns, once a round, the workers of every active job, and the order in
// which jobs whose number changes are placed. Jobs are in the order of the workload.
type scheduler func(active []*job, h *slots) (workers, order []int, err error)

// stand makes a scheduler a policy of the replay: jobs that keep their workers keep
// their nodes, others are spread over the nodes with most free GPUs.
func (h *slots) stand(schedule scheduler) simulate.Stand {
	return func(_ float64, jobs []*simulate.Job) ([]place.Placed, error) {
		active := list.Map(jobs, func(j *simulate.Job) *job { return j.Course.(*job) })
		workers, order, err := schedule(active, h)
		if err != nil {
			return nil, err
		}
		free := map[string]int{} // GPUs by node
		for _, n := range h.Nodes {
			free[n.Name] = n.GPUs
		}
		for i, j := range active {
			if j.workers() != workers[i] {
				j.nodes = nil
			}
			for _, s := range j.nodes {
				free[s.Node] -= s.Workers
			}
		}
		for _, i := range order {
			if j := active[i]; j.nodes == nil {
				j.nodes = h.worstFit(free, workers[i])
			}
		}
		out := make([]place.Placed, len(jobs))
		for i, j := range active {
			out[i].Choice = allocate.None
			if j.nodes != nil {
				out[i].Nodes, out[i].Choice = j.nodes, 0
				out[i].Option.Config = data.Config{GPUType: h.gpuType, Mode: data.AllReduce, Workers: workers[i]}
			}
		}
		return out, nil
	}
}

// worstFit takes n GPUs from the nodes with most free ones, the first of equals; nil: not
// enough.
func (h *slots) worstFit(free map[string]int, n int) (out []data.NodeShare) {
	for n > 0 {
		best := slices.MaxFunc(h.Nodes, func(a, b data.Node) int { return free[a.Name] - free[b.Name] }).Name
		take := min(free[best], n)
		if take == 0 {
			return nil
		}
		free[best] -= take
		n -= take
		out = append(out, data.NodeShare{Node: best, Workers: take})
	}
	return out
}
