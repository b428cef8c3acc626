package pollux

import (
	"slices"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/allocate/policy"
	"knee/allocate/simulate/agent"
	"knee/allocate/simulate/elastic"
	"knee/data"
	"knee/predict"
)

// adapted lets a policy of this project decide: it is shown what the agents
// predict, and its choice is put on nodes.
type adapted struct {
	policy  allocate.Policy
	gang    bool // it takes sizes and batches as they were asked for
	cluster *data.Cluster
	fit     agent.Fitter
	// objective is what the policies that follow one maximise.
	objective objective.Objective
	names     map[string]int // node name to number
}

func newAdapted(s Settings, p allocate.Policy) (*adapted, error) {
	objective, err := objective.New("jct")
	if err != nil {
		return nil, err
	}
	prior := agent.DefaultPrior()
	if s.Prior != nil {
		prior = *s.Prior
	}
	a := &adapted{policy: p, objective: objective, gang: policy.Gang(s.Policy), fit: prior.Fit, cluster: &data.Cluster{}, names: map[string]int{}}
	for _, n := range s.Cluster.Nodes {
		if n.Drained {
			continue
		}
		n.CPUs, n.Memory = 0, 0 // nobody asks for any here
		a.names[n.Name] = len(a.cluster.Nodes)
		a.cluster.Nodes = append(a.cluster.Nodes, n)
	}
	return a, nil
}

func (a *adapted) prepare(j *job) {
	if a.gang {
		j.limits.Fixed = j.target
	}
	j.agent = &agent.Agent{Limits: j.limits, Fit: a.fit}
}

func (a *adapted) schedule(now float64, active []*job, h *hall) ([][]int, error) {
	s := allocate.State{Now: now, Cluster: a.cluster}
	standing := make([]place.Standing, len(active))
	for i, j := range active {
		s.Jobs = append(s.Jobs, a.state(j, h))
		standing[i].Current = a.shares(j)
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
			for range share.Workers {
				out[i] = append(out[i], a.names[share.Node])
			}
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
func (a *adapted) state(j *job, h *hall) allocate.JobState {
	s := allocate.JobState{
		Name: j.name, Current: -1, Requested: j.workers, Weight: 1, Submitted: j.submit, Attained: j.attained,
		History: allocate.History{Restart: restartDelay, Restarts: j.restarts, Progress: j.declared(), Ran: j.ran,
			ByType: map[string]float64{h.gpuType: j.attained}},
	}
	for _, k := range a.counts(j, h) {
		p := elastic.Packed(h.gpus, k)
		s.Options = append(s.Options, a.option(j, h, p, k))
		if k == len(j.nodes) && place.ShapeOf(a.shares(j)).String() == p.String() {
			s.Current = len(s.Options) - 1
			s.Options[s.Current].Keeps = true
		}
	}
	if s.Current < 0 && j.nodes != nil { // an uneven or unusual place
		o := a.option(j, h, j.placement, len(j.nodes))
		o.Keeps = true
		s.Options = append(s.Options, o)
		s.Current = len(s.Options) - 1
	}
	a.remaining(j, &s)
	a.value(j, &s)
	return s
}

// counts are the numbers of workers a job is offered.
func (a *adapted) counts(j *job, h *hall) []int {
	if a.gang {
		return []int{min(j.workers, h.total)}
	}
	// A job not seen yet may start on up to a node.
	most := max(h.gpus[0], elastic.Growth*j.agent.MostWorkers)
	return elastic.Sizes(min(h.total, int(j.limits.Max/j.limits.LocalMin), most), h.gpus[0])
}

// untried is the remaining time, in seconds, of a job that has not been seen
// to run: short, so that it is tried.
const untried = 60

// remaining fills in the time to go. Policies that take sizes as they come
// must rank jobs nobody has seen, too; ours are told that nothing is known.
func (a *adapted) remaining(j *job, s *allocate.JobState) {
	work := j.left() * j.limits.Initial
	if g := s.Options[0].Answer.Goodput.Mean; j.agent.Ready() && g > 0 && work > 0 {
		s.Remaining = work / g
	} else if a.gang {
		s.Remaining = untried
	}
	for n := range s.Options {
		if g := s.Options[n].Answer.Goodput.Mean; g > 0 && work > 0 && j.agent.Ready() {
			t := work / g
			s.Options[n].Answer.TimeToTarget = data.Estimate{Mean: t, Lo: t, Hi: t}
		}
	}
}

// option is one row of an option table.
func (a *adapted) option(j *job, h *hall, p data.Placement, k int) allocate.Option {
	batch, e := elastic.Expect(j.agent, len(p), k)
	c := data.Config{GPUType: h.gpuType, Mode: data.AllReduce, Placement: p, Nodes: len(p), Workers: k, LocalBatch: batch.Local, AccumSteps: batch.Accum}
	return allocate.Option{Config: c, Use: allocate.UseOf(c, data.Resources{}), Answer: predict.Answer{Config: c, Goodput: e, Throughput: e}}
}

// value says what the options are worth under the objective jct, which is
// what the solvers of package allocate go by.
func (a *adapted) value(j *job, s *allocate.JobState) {
	subject := objective.Subject{
		Job:       data.Job{Name: j.name, Weight: s.Weight, RestartSeconds: restartDelay},
		Reference: s.Options[0].Answer,
	}
	if s.Current >= 0 {
		subject.Job.Current = &data.Current{}
	}
	objective.SetValues(a.objective, subject, s.Options)
	s.Idle = a.objective.Idle(subject)
}

// declared is the share of the epochs its owner declared that is done. How
// far it is through the present one a job's data loader knows.
func (j *job) declared() float64 {
	from, to := j.app.Progress(j.epoch), j.app.Progress(j.epoch+1)
	return (float64(j.epoch) + (j.progress-from)/(to-from)) / float64(j.app.Epochs)
}

// left is the progress still to make, in steps of the initial batch, if the
// epochs to come are like those done.
func (j *job) left() float64 {
	d := j.declared()
	if d <= 0 {
		return 0
	}
	return j.progress * (1 - d) / d
}
