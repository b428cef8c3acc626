package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
	"knee/fit/interference"
	"knee/internal/list"
)

// Rules are what changes and failures cost, and when the policy decides.
type Rules struct {
	Interval       float64 // seconds between decisions; 0 decides at every arrival and completion
	RestartSeconds float64 // without progress after a job gets workers and after a change of them
	StopFree       bool    // a job that grows or shrinks in place does not restart
	RescaleSeconds float64 // without progress where it does so
	Checkpoint     float64 // seconds of progress between checkpoints, the most that a failure costs; 0: it costs none
	Survival       bool    // remaining times are weighted by how far ended jobs came, see [survival]
	Packed         *Pairs  // speeds of jobs on the same GPUs; nil if nothing was measured
}

// Settings says how a workload is replayed.
type Settings struct {
	Rules
	Cluster  *data.Cluster
	Policy   allocate.Policy
	Stand    Stand     // in place of a policy
	Truth    Truth     // default: Predicted
	Rounds   bool      // every event is a multiple of the interval
	Failures []Failure // of nodes, in any order
	Unvalued bool      // the policy ignores values of options, so none are computed

	// Decided, if not nil, is told how long each decision took.
	Decided func(time.Duration)
	// Progress, if not nil, is told how many jobs are done. Its error ends the replay.
	Progress func(done, of int) error
	// Used, if not nil, is told, after every event, what is in use from then on.
	Used func(Usage)
}

// maxSeconds is the simulated time, ten years, at which a replay ends with an error.
const maxSeconds = 10 * 365 * 24 * 3600

// Result is a replayed workload.
type Result struct {
	Jobs    []Outcome // in order of the workload
	Summary Summary
}

// Run replays a workload. It fails with the policy, on a truth that is not finite or is
// negative, and on jobs that the policy never runs.
func Run(jobs []Job, s Settings) (*Result, error) {
	constant := s.Truth == nil // predictions do not vary with progress
	if err := s.complete(); err != nil {
		return nil, err
	}
	r := &replay{Settings: s, constant: constant && s.Packed == nil, wake: math.Inf(1), placer: place.New(s.Cluster), present: s.Cluster}
	if err := r.plan(); err != nil {
		return nil, err
	}
	for i := range jobs {
		j := &jobs[i]
		if err := check(j); err != nil {
			return nil, err
		}
		r.jobs = append(r.jobs, &running{Job: j, options: slices.Clone(j.Options), byType: map[string]float64{},
			outcome: Outcome{Job: j.Name, Tenant: j.Tenant, Fate: j.Fate, Submit: j.Submit}})
	}
	if s.Packed != nil {
		r.besides = &besides{s.Packed, map[interference.Row]*pair{}}
	}
	r.waiting = slices.Clone(r.jobs)
	slices.SortStableFunc(r.waiting, func(a, b *running) int { return cmp.Compare(a.Submit, b.Submit) })
	if err := r.run(); err != nil {
		return nil, err
	}
	outcomes := list.Map(r.jobs, func(j *running) Outcome { return j.outcome })
	return &Result{outcomes, Summarize(outcomes, s.Cluster.Slots())}, nil
}

func (s *Settings) complete() error {
	switch {
	case s.Cluster == nil || s.Cluster.Slots() == 0:
		return errors.New("simulate: the cluster has no worker slots")
	case s.Policy == nil && s.Stand == nil:
		return errors.New("simulate: no policy is given")
	case !(s.RestartSeconds >= 0) || !(s.RescaleSeconds >= 0) || !(s.Interval >= 0):
		return errors.New("simulate: restart, rescale and interval want seconds ≥ 0")
	}
	if s.Truth == nil {
		s.Truth = Predicted
	}
	if s.Decided == nil {
		s.Decided = func(time.Duration) {}
	}
	return nil
}

func check(j *Job) error {
	switch {
	case j.Work == 0 && j.TotalSteps > 0:
		return j.Bad("total_steps", fmt.Sprint(j.TotalSteps), "samples or duration_s; steps count with --models or --measurements, which say how large one is")
	case j.Seconds && !(j.Work > 0):
		return j.Bad("duration_s", fmt.Sprint(j.Work), "a duration above 0, or samples")
	case !(j.Work > 0) || math.IsInf(j.Work, 0):
		return j.Bad("", fmt.Sprintf("work %g", j.Work), "samples > 0")
	case !(j.Submit >= 0) || math.IsInf(j.Submit, 0):
		return j.Bad("", fmt.Sprintf("submission at %g", j.Submit), "seconds ≥ 0")
	case len(j.Options) == 0 && j.Learner == nil && j.Course == nil:
		return j.Bad("workers", fmt.Sprint(j.Workers), "no more GPUs of one type than the cluster has")
	}
	return nil
}

// replay is the state of a run.
type replay struct {
	Settings
	jobs     []*running
	waiting  []*running // not yet submitted, by time
	active   []*running // submitted and not done, in order of submission
	now      float64
	placer   *place.Placer // what is free on the nodes; unused with a Stand
	outages  []outage
	down     map[string]int // outages of a node that last
	constant bool           // speeds do not vary with progress, or with who is beside
	present  *data.Cluster  // without nodes in an outage
	survival survival
	besides  *besides // nil unless jobs may share GPUs
	wake     float64  // when the policy asks for its next decision
	// changes of running jobs so far, and their cost in seconds
	changes, changeCost float64
}

// run moves from event to event until every job is done.
func (r *replay) run() error {
	for len(r.waiting) > 0 || len(r.active) > 0 {
		next, err := r.nextEvent()
		if err != nil {
			return err
		}
		if next > maxSeconds {
			return &data.InputError{Found: fmt.Sprintf("%d jobs that are not done after %d simulated seconds", len(r.active)+len(r.waiting), maxSeconds), Want: "less work, or more speed"}
		}
		for _, j := range r.active {
			if err := j.advance(next-r.now, r.Checkpoint); err != nil {
				return fmt.Errorf("simulate: at %g s: %w", r.now, err)
			}
		}
		r.now = next
		if err := r.observe(); err != nil {
			return err
		}
		changed := r.retire()
		if changed && r.Progress != nil {
			if err := r.Progress(len(r.jobs)-len(r.waiting)-len(r.active), len(r.jobs)); err != nil {
				return err
			}
		}
		changed = r.admit() || changed
		changed = r.fail() || changed
		if r.decides(changed) {
			if err := r.decide(); err != nil {
				return err
			}
		}
		if err := r.refresh(); err != nil {
			return err
		}
		r.used()
	}
	return nil
}

// nextEvent is the time of the next arrival, completion or round.
func (r *replay) nextEvent() (float64, error) {
	if r.Rounds {
		return r.now + r.Interval, nil
	}
	next := math.Inf(1)
	if len(r.waiting) > 0 {
		next = math.Max(r.now, r.waiting[0].Submit)
	}
	if len(r.outages) > 0 {
		next = math.Min(next, math.Max(r.now, r.outages[0].at))
	}
	if r.Interval == 0 && len(r.active) > 0 {
		next = math.Min(next, math.Max(r.now, r.wake))
	}
	busy := false
	for _, j := range r.active {
		t := j.finishIn()
		busy = busy || !math.IsInf(t, 1)
		next = math.Min(next, r.now+t)
		next = math.Min(next, math.Max(r.now, j.cancelAt()))
	}
	if r.Interval > 0 && len(r.active) > 0 && (busy || len(r.waiting) > 0 || math.Mod(r.now, r.Interval) != 0) {
		next = math.Min(next, (math.Floor(r.now/r.Interval+1e-9)+1)*r.Interval)
	}
	if math.IsInf(next, 1) {
		return 0, fmt.Errorf("simulate: at %g s the policy leaves %d jobs, the first %q, without workers on an otherwise idle cluster", r.now, len(r.active), r.active[0].Name)
	}
	return next, nil
}

// retire removes ended and cancelled jobs, and reports whether there were any.
func (r *replay) retire() bool {
	before := len(r.active)
	r.active = slices.DeleteFunc(r.active, func(j *running) bool {
		switch {
		case r.now >= j.cancelAt():
			j.outcome.Fate = Cancelled
			if !j.ever {
				j.outcome.Start = r.now
			}
		case !j.ended(r.now):
			return false
		case j.Learner != nil && j.outcome.Useful():
			j.Learner.Completed()
		}
		if j.Course == nil {
			j.outcome.End = r.now
		}
		if !j.part() && r.Stand == nil {
			r.placer.Release(j.nodes, data.Resources{})
		}
		if believed := j.Believed(); believed > 0 {
			r.survival.add(j.done / believed)
		}
		return true
	})
	return len(r.active) < before
}

// ended reports whether a job is done at a time, or but for rounding: its end would be an
// event at the same time.
func (j *running) ended(now float64) bool {
	if j.Course != nil {
		return j.outcome.End > 0
	}
	return j.nodes != nil && j.delay <= 0 && (j.Work-j.done <= 1e-9*j.Work || now+j.finishIn() <= now)
}

// admit adds the jobs that are submitted by now, and reports whether there were any.
func (r *replay) admit() bool {
	n := 0
	for n < len(r.waiting) && r.waiting[n].Submit <= r.now {
		n++
	}
	r.active = append(r.active, r.waiting[:n]...)
	r.waiting = r.waiting[n:]
	return n > 0
}

// decides reports whether the policy is asked now.
func (r *replay) decides(changed bool) bool {
	if len(r.active) == 0 {
		return false
	}
	if r.Interval == 0 {
		return changed || r.now >= r.wake
	}
	at := r.now / r.Interval
	return math.Abs(at-math.Round(at)) < 1e-9
}

// observe calls the learners of running jobs.
func (r *replay) observe() error {
	for _, j := range r.active {
		if j.Learner == nil || j.Course != nil || j.nodes == nil || j.delay > 0 {
			continue
		}
		if err := j.Learner.Observe(j.config, math.Min(j.done, j.Work)); err != nil {
			return fmt.Errorf("simulate: job %q: %w", j.Name, err)
		}
	}
	return nil
}

// refresh updates the true speeds, which may vary with progress.
func (r *replay) refresh() error {
	if r.constant {
		return nil
	}
	for _, j := range r.active {
		if j.nodes != nil {
			if err := r.speed(j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replay) speed(j *running) error {
	if j.Course != nil {
		return nil
	}
	v, err := r.Truth(j.Job, j.config, j.done)
	if err != nil {
		return fmt.Errorf("simulate: true speed of job %q on %s: %w", j.Name, j.config, err)
	}
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("simulate: true speed of job %q on %s is %g samples/s", j.Name, j.config, v)
	}
	if j.speed = v; j.beside != nil {
		j.speed *= r.besides.of(j, j.beside, j.config.GPUType, j.config.Workers).truth
	}
	return nil
}
