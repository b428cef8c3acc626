package pollux

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/elastic"
	"knee/allocate/simulate/measured"
	"knee/data"
)

// Settings says how to replay a workload.
type Settings struct {
	Cluster  *data.Cluster // nodes of one GPU type
	Profiles *measured.Profiles
	Policy   string           // one of [Policies]
	Knee     *policy.Knee     // in place of the policy, with constants of its own; nil for none
	History  *elastic.History // what jobs were observed to do before; nil for nothing
	simulate.Watch
}

// slots is the cluster as the published simulator has it: nodes by number.
type slots struct {
	gpuType string
	gpus    []int // per node
	total   int
}

func newSlots(c *data.Cluster) (*slots, error) {
	all := simulate.NewSlots(c)
	types := slices.DeleteFunc(slices.Clone(all.Types), func(t string) bool { return all.Total[t] == 0 })
	switch len(types) {
	case 1:
		return &slots{types[0], all.GPUs[types[0]], all.Total[types[0]]}, nil
	case 0:
		return nil, &data.InputError{Source: c.Source, Found: "no worker slots", Want: "at least one"}
	}
	return nil, &data.InputError{Source: c.Source, Found: "GPU types " + strings.Join(types, ", "),
		Want: "nodes of one type: the published simulator knows no other, use the native semantics"}
}

// Run replays a workload; the outcomes are in its order.
func Run(workload []simulate.Job, s Settings) ([]simulate.Outcome, error) {
	h, err := newSlots(s.Cluster)
	if err != nil {
		return nil, err
	}
	sched, err := newScheduler(s)
	if err != nil {
		return nil, err
	}
	r := &replay{Settings: s, slots: h, scheduler: sched}
	for i, w := range workload {
		app, ok := s.Profiles.Apps[w.Application]
		if !ok {
			return nil, w.Bad("application", w.Application, "one of "+strings.Join(slices.Sorted(maps.Keys(s.Profiles.Apps)), ", ")+", which were measured")
		}
		j, err := newJob(w, i, app, h.gpuType, sched)
		if err != nil {
			return nil, err
		}
		r.jobs = append(r.jobs, j)
	}
	return r.run()
}

type replay struct {
	Settings
	slots     *slots
	scheduler scheduler
	jobs      []*job
	finished  int
}

func (r *replay) run() ([]simulate.Outcome, error) {
	for now := 0.0; r.finished < len(r.jobs); {
		if now > simulate.MaxSeconds {
			return nil, simulate.Endless(len(r.jobs) - r.finished)
		}
		if err := r.advance(); err != nil {
			return nil, fmt.Errorf("simulate: policy %s: at %g s: %w", r.Policy, now, err)
		}
		now += round
		if err := r.decide(now); err != nil {
			return nil, fmt.Errorf("simulate: policy %s: at %g s: %w", r.Policy, now, err)
		}
		r.used(now)
	}
	out := make([]simulate.Outcome, len(r.jobs))
	for i, j := range r.jobs {
		out[i] = simulate.Outcome{Job: j.Name, Submit: j.Submit, Start: j.start, End: j.end, Restarts: j.restarts, GPUSeconds: j.attained}
	}
	return out, nil
}

// used tells what is in use from now on.
func (r *replay) used(now float64) {
	if r.Used == nil {
		return
	}
	u := simulate.Usage{At: now}
	for _, j := range r.jobs {
		switch {
		case j.done || j.Submit > now:
		case len(j.nodes) == 0:
			u.Waiting++
		default:
			u.Running++
			u.GPUs += len(j.nodes)
		}
	}
	r.Used(u)
}

// advance lets a round pass for every job.
func (r *replay) advance() error {
	for _, j := range r.jobs {
		if j.done {
			continue
		}
		if err := j.advance(round); err != nil {
			return err
		}
		if !j.done {
			continue
		}
		r.finished++
		if r.Progress != nil {
			if err := r.Progress(r.finished, len(r.jobs)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide asks the scheduler and carries its answer out.
func (r *replay) decide(now float64) error {
	var active []*job
	for _, j := range r.jobs {
		if j.Submit <= now && !j.done {
			active = append(active, j)
		}
	}
	if len(active) == 0 {
		return nil
	}
	asked := time.Now()
	next, err := r.scheduler.schedule(now, active, r.slots)
	if r.Decided != nil {
		r.Decided(time.Since(asked))
	}
	if err != nil {
		return err
	}
	if err := r.slots.check(active, next); err != nil {
		return err
	}
	for i, j := range active {
		if slices.Equal(next[i], j.nodes) {
			continue
		}
		if err := j.reallocate(next[i]); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a decision that uses a GPU twice.
func (h *slots) check(active []*job, next [][]int) error {
	if len(next) != len(active) {
		return fmt.Errorf("the policy decides on %d of %d jobs", len(next), len(active))
	}
	used := make([]int, len(h.gpus))
	for i, nodes := range next {
		for _, n := range nodes {
			if n < 0 || n >= len(used) {
				return fmt.Errorf("the policy puts job %q on node %d of %d", active[i].Name, n, len(used))
			}
			if used[n]++; used[n] > h.gpus[n] {
				return fmt.Errorf("the policy hands out more than the %d GPUs of node %d", h.gpus[n], n)
			}
		}
	}
	return nil
}
