package simulate

import (
	"fmt"
	"slices"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// decide asks the policy, places what it says and starts, restarts or stops
// jobs accordingly.
func (r *replay) decide() error {
	state, standing := r.state()
	a, err := r.Policy.Allocate(state)
	if err != nil {
		return fmt.Errorf("simulate: at %g s: %w", r.now, err)
	}
	if err := a.Check(state); err != nil {
		return fmt.Errorf("simulate: at %g s: %w", r.now, err)
	}
	r.decisions++
	placed, _ := allocate.PlaceAll(state, a, standing, nil)
	for i, j := range r.active {
		if err := r.apply(j, placed[i]); err != nil {
			return err
		}
	}
	return nil
}

// apply changes what a job runs on.
func (r *replay) apply(j *running, p allocate.Placed) error {
	if p.Choice < 0 {
		j.nodes, j.speed, j.delay = nil, 0, 0
		return nil
	}
	c := p.Option.Config
	same := j.nodes != nil && slices.Equal(j.nodes, p.Nodes) && sameProcesses(j.config, c)
	j.config, j.nodes = c, p.Nodes
	switch {
	case same: // a change of batch restarts nothing
	case !j.ever:
		j.ever = true
		j.outcome.Start = r.now
		j.delay = r.StartSeconds
	default:
		j.outcome.Restarts++
		j.delay = r.RestartSeconds
	}
	return r.speed(j)
}

// sameProcesses reports whether two configurations on the same nodes are the
// same processes.
func sameProcesses(a, b data.Config) bool {
	return a.GPUType == b.GPUType && a.ModeOrDefault() == b.ModeOrDefault() && a.Workers == b.Workers && a.PS == b.PS
}

// state is what the policy may see: predicted speeds and remaining times,
// valued by the objective, and what each job runs on.
func (r *replay) state() (allocate.State, []allocate.Standing) {
	s := allocate.State{Now: r.now, Cluster: r.Cluster}
	var standing []allocate.Standing
	for _, j := range r.active {
		s.Jobs = append(s.Jobs, r.jobState(j))
		standing = append(standing, allocate.Standing{Resources: j.Resources, Current: j.nodes})
	}
	return s, standing
}

func (r *replay) jobState(j *running) allocate.JobState {
	options := slices.Clone(j.Options)
	left := j.Work - j.done
	current := -1
	for n := range options {
		o := &options[n]
		o.Keeps = false
		o.Answer.TimeToTarget = timeLeft(left, o.Answer)
		if j.nodes != nil && current < 0 && sameProcesses(o.Config, j.config) && samePlaces(o.Config, j.nodes) {
			o.Keeps, current = true, n
		}
	}
	ref := smallest(options)
	subject := allocate.Subject{
		Job:       data.Job{Name: j.Name, Weight: j.Weight, RestartSeconds: r.RestartSeconds},
		Reference: ref.Answer,
		Fair:      fair(options, max(1, r.Cluster.Slots()/len(r.active))),
	}
	if j.nodes != nil {
		subject.Job.Current = &data.Current{}
	}
	allocate.SetValues(r.Objective, subject, options)
	return allocate.JobState{
		Name: j.Name, Options: options, Idle: r.Objective.Idle(subject), Current: current,
		Requested: j.Workers, Weight: j.Weight, Submitted: j.Submit,
		Attained: j.outcome.GPUSeconds, Remaining: ref.Answer.TimeToTarget.Mean,
	}
}

// samePlaces reports whether nodes have the shape an option wants. A job
// that had to stand unevenly is offered a better place at the usual price.
func samePlaces(c data.Config, nodes []data.NodeShare) bool {
	return len(c.Placement) == 0 || allocate.ShapeOf(nodes).String() == c.Placement.String()
}

// timeLeft is how long left samples take at a predicted goodput.
func timeLeft(left float64, a predict.Answer) data.Estimate {
	g := a.Goodput
	if g.Mean <= 0 {
		return data.Estimate{}
	}
	t := data.Estimate{Mean: left / g.Mean, Lo: left / g.Mean, Hi: left / g.Mean}
	if g.Lo > 0 {
		t.Hi = left / g.Lo
	}
	if g.Hi > 0 {
		t.Lo = left / g.Hi
	}
	return t
}

// smallest is the option of fewest workers, the fastest of those.
func smallest(options []allocate.Option) allocate.Option {
	best := options[0]
	for _, o := range options[1:] {
		if o.Use.GPUs < best.Use.GPUs || o.Use.GPUs == best.Use.GPUs && o.Answer.Goodput.Mean > best.Answer.Goodput.Mean {
			best = o
		}
	}
	return best
}

// fair is the best predicted goodput with an equal share of the cluster.
func fair(options []allocate.Option, share int) float64 {
	least := smallest(options)
	best := least.Answer.Goodput.Mean
	for _, o := range options {
		if o.Use.GPUs <= share && o.Answer.Goodput.Mean > best {
			best = o.Answer.Goodput.Mean
		}
	}
	return best
}
