package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/data"
	"knee/internal/list"
)

// decide asks the policy, places its answer and starts, restarts or stops jobs.
func (r *replay) decide() error {
	if r.Stand != nil {
		return r.stand()
	}
	state := r.state()
	asked := time.Now()
	a, err := r.Policy.Allocate(state)
	r.Decided(time.Since(asked))
	if err != nil {
		return fmt.Errorf("simulate: policy %T at %g s: %w", r.Policy, r.now, err)
	}
	if err := a.Check(state); err != nil {
		return fmt.Errorf("simulate: policy %T at %g s gives an impossible answer: %w", r.Policy, r.now, err)
	}
	r.wake = math.Max(cmp.Or(a.Wake, math.Inf(1)), r.now+shortestWake)
	r.leave(a.Guests)
	for _, m := range r.place(state, a) {
		if m.job.guest && m.to.Choice < 0 {
			continue
		}
		if err := r.apply(m.job, m.to); err != nil {
			return err
		}
	}
	return r.lodge(state, a.Guests)
}

// Stand is a policy that gets the jobs themselves, and returns option and nodes of each.
type Stand func(now float64, jobs []*Job) ([]place.Placed, error)

// stand is decide with a [Stand].
func (r *replay) stand() error {
	jobs := list.Map(r.active, func(j *running) *Job { return j.Job })
	asked := time.Now()
	placed, err := r.Stand(r.now, jobs)
	r.Decided(time.Since(asked))
	if err != nil {
		return fmt.Errorf("simulate: at %g s: %w", r.now, err)
	}
	for i, j := range r.active {
		if err := r.apply(j, placed[i]); err != nil {
			return err
		}
	}
	return nil
}

// shortestWake is the least time to the next wake, in seconds, so that the clock
// advances.
const shortestWake = 1

func (r *replay) apply(j *running, p place.Placed) error {
	if p.Choice < 0 {
		ran := j.nodes != nil
		if j.stop(); ran && j.Course != nil {
			return j.Course.Stand(r.now, nil)
		}
		return nil
	}
	c := p.Option.Config
	c.Placement = data.PlacementOf(p.Nodes)
	c.Nodes = len(c.Placement)
	scaled := r.StopFree && j.nodes != nil && inPlace(j, c, p.Nodes)
	same := j.nodes != nil && slices.Equal(j.nodes, p.Nodes) && place.Same(j.config, c)
	j.config, j.nodes = c, p.Nodes
	switch {
	case same: // a change of batch restarts nothing
	case !j.ever:
		j.ever = true
		j.outcome.Start = r.now
		j.delay = cmp.Or(j.RestartSeconds, r.RestartSeconds)
	case scaled: // a delay already under way is not shortened
		j.outcome.Rescales++
		r.changed(r.RescaleSeconds)
		j.delay = max(j.delay, r.RescaleSeconds)
	default:
		j.save()
		j.outcome.Restarts++
		j.delay = cmp.Or(j.RestartSeconds, r.RestartSeconds)
		r.changed(j.delay)
	}
	if j.Course != nil && !same {
		return j.Course.Stand(r.now, p.Nodes)
	}
	return r.speed(j)
}

// inPlace reports whether a job only grows or shrinks; any other change is a move.
func inPlace(j *running, c data.Config, nodes []data.NodeShare) bool {
	return j.config.GPUType == c.GPUType && j.config.ModeOrDefault() == c.ModeOrDefault() &&
		(within(j.nodes, nodes) || within(nodes, j.nodes))
}

// within reports whether b has everything that a has, node by node.
func within(a, b []data.NodeShare) bool {
	return !slices.ContainsFunc(a, func(x data.NodeShare) bool {
		return !slices.ContainsFunc(b, func(y data.NodeShare) bool {
			return x.Node == y.Node && x.Workers <= y.Workers && x.PS <= y.PS
		})
	})
}

// changed records the cost of a change, in seconds.
func (r *replay) changed(cost float64) {
	r.changes++
	r.changeCost += cost
}

// changeSeconds is the cost of a change that policies are given, in seconds: the mean of
// those so far and one in place, since only placement decides whether a job must move.
func (r *replay) changeSeconds(j *Job) float64 {
	if r.StopFree {
		return (r.changeCost + r.RescaleSeconds) / (r.changes + 1)
	}
	return cmp.Or(j.RestartSeconds, r.RestartSeconds)
}

func (r *replay) state() allocate.State {
	s := allocate.State{Now: r.now, Cluster: r.present, Jobs: make([]allocate.JobState, len(r.active))}
	if r.besides != nil {
		s.Beside = func(i, other int, gpuType string, workers int) float64 {
			return r.besides.of(r.active[i], r.active[other], gpuType, workers).expected
		}
	}
	for i, j := range r.active {
		s.Jobs[i] = r.jobState(j)
	}
	return s
}

// jobState is the input of the policy about a job, its options valued by the objective jct.
func (r *replay) jobState(j *running) allocate.JobState {
	left, nodes := math.Max(0, j.Believed()-j.done), j.nodes
	if j.guest { // they belong to its host
		nodes = nil
	}
	if j.Learner != nil {
		var config *data.Config
		if nodes != nil {
			config = &j.config
		}
		j.options, left = j.Learner.Options(config), j.Learner.Left()
	}
	history := allocate.History{Restart: r.changeSeconds(j.Job), Restarts: j.outcome.Restarts, Ran: j.ran, ByType: j.byType, Tenant: j.Tenant}
	if j.done > 0 {
		history.Progress = j.done / (j.done + left)
	}
	if r.Survival {
		left *= r.survival.factor(history.Progress)
	}
	current := allocate.None
	for n := range j.options {
		o := &j.options[n]
		o.Keeps = false
		o.Answer.TimeToTarget = data.Estimate{}
		if v := o.Answer.Goodput.Mean; v > 0 {
			o.Answer.TimeToTarget = data.Estimate{Mean: left / v, Lo: left / v, Hi: left / v}
		}
		if nodes != nil && current < 0 && place.Same(o.Config, j.config) {
			o.Keeps, current = true, n
		}
	}
	least := &j.options[allocate.Narrowest(j.options)]
	s := allocate.JobState{
		Name: j.Name, Options: j.options, Current: current, Requested: j.Workers, Weight: j.Weight, Submitted: j.Submit,
		Opportunistic: j.Opportunistic, Attained: j.outcome.GPUSeconds, Remaining: least.Answer.TimeToTarget.Mean, History: history,
	}
	if j.guest {
		s.Host = j.beside.Name
	}
	if r.Unvalued {
		return s
	}
	jct, _ := objective.New("jct") // it is there
	subject := objective.Subject{Job: data.Job{Name: j.Name, Weight: j.Weight, RestartSeconds: history.Restart}, Reference: least.Answer}
	if nodes != nil {
		subject.Job.Current = &data.Current{}
	}
	objective.SetValues(jct, subject, j.options)
	s.Idle = jct.Idle(subject)
	return s
}

// move is what changes for one job.
type move struct {
	job *running
	to  place.Placed
}

// place places an assignment on nodes and returns the changes. If no option has a shape only
// the jobs that change are placed, in time that depends on the changes; with shapes all jobs
// may have to move together.
func (r *replay) place(s allocate.State, a allocate.Assignment) (out []move) {
	for i, c := range a.Choice {
		j := r.active[i]
		if c < 0 {
			if j.nodes != nil && !j.guest {
				out = append(out, move{j, place.Placed{Choice: -1}})
			}
			continue
		}
		o := &s.Jobs[i].Options[c]
		if len(o.Config.Placement) > 0 {
			return r.placeAll(s, a)
		}
		if !o.Keeps || o.Config.LocalBatch != j.config.LocalBatch || o.Config.AccumSteps != j.config.AccumSteps {
			out = append(out, move{j, place.Placed{Choice: c, Option: *o, Nodes: j.nodes}})
		}
	}
	for _, m := range out {
		if !m.to.Option.Keeps {
			r.placer.Release(m.job.nodes, data.Resources{})
		}
	}
	slices.SortStableFunc(out, func(x, y move) int { return cmp.Compare(y.to.Option.Use.GPUs, x.to.Option.Use.GPUs) })
	for n := range out {
		j, to := out[n].job, &out[n].to
		if to.Choice >= 0 && !to.Option.Keeps {
			var ok bool
			if to.Nodes, ok = r.placer.Place(place.Request{Config: to.Option.Config, Current: j.nodes}); !ok {
				*to = place.Placed{Choice: -1} // free cores or memory are on other nodes than free GPUs: it waits
			}
		}
	}
	return out
}

// placeAll places all jobs anew; those that keep their option stay.
func (r *replay) placeAll(s allocate.State, a allocate.Assignment) []move {
	standing := make([]place.Request, len(r.active))
	for i, j := range r.active {
		if !j.guest {
			standing[i].Current = j.nodes
		}
	}
	placed, placer := place.All(s, a, standing, nil)
	r.placer = placer
	out := make([]move, len(placed))
	for i, p := range placed {
		out[i] = move{r.active[i], p}
	}
	return out
}
