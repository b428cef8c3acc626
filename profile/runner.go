package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/internal/list"
	"knee/profile/launch"
	"knee/profile/store"
)

// Runner measures a study: it asks the strategy, launches trials, and records each before it
// asks again. Several runners may share a study through its Storage.
type Runner struct {
	Study      *data.Study
	Candidates []data.Config
	Strategy   bayesopt.Strategy
	Launcher   launch.Launcher
	Storage    store.Storage
	Snapshot   *store.Snapshot // what the storage held
	LogDir     string
	Self       string             // path of knee, for commands that start with "knee"
	Notify     func(Event)        // called from several goroutines, one at a time; may be nil
	Drain      <-chan struct{}    // when closed, running trials finish and none is started
	Save       func(Result) error // called after every trial; may be nil

	mu       sync.Mutex // guards the fields below and calls of Notify
	results  map[int]store.Result
	earlier  map[int]bool // trials of earlier runs
	running  map[int]*running
	others   map[int]data.Config // trials that other profilers run, by number
	begun    time.Time
	warnings []warning
	failures int                               // consecutive failed trials
	unsaved  bool                              // the files could not be written
	noise    func(globalBatch float64) float64 // the efficiency by the first noiseAt results
	noiseAt  int
}

// Result is the outcome of a study.
type Result struct {
	Measurements []data.Measurement // every finished trial, by number
	Curves       []data.CurvePoint
	Stopped      string  // why no further trial was started
	Drained      bool    // stopped by the user before the end
	Spent        float64 // US$
	Warnings     []string
}

// giveUpAfter is how many trials may fail in a row, without any OK.
const giveUpAfter = 3

type running struct {
	config data.Config
	cancel context.CancelCauseFunc
}

// Run measures until the strategy stops, the budget is spent, or Drain or ctx ends it. It
// waits for trials of other profilers, to take over those whose profiler dies. Every error
// comes with the measurements so far.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	r.begun = time.Now()
	r.results, r.earlier = map[int]store.Result{}, map[int]bool{}
	r.running, r.others = map[int]*running{}, map[int]data.Config{}
	for _, e := range r.Snapshot.Results {
		r.results[e.Trial], r.earlier[e.Trial] = e, true
	}
	if r.LogDir != "" {
		if err := os.MkdirAll(r.LogDir, 0o755); err != nil {
			return Result{}, fmt.Errorf("make the folder for the trials' logs: %w", err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &loop{r: r, ctx: ctx, cancel: cancel, done: make(chan outcome), drain: r.Drain, ended: ctx.Done()}
	l.run()
	res := r.result()
	res.Stopped, res.Drained = l.why, l.drained
	if l.fatal == nil && ctx.Err() != nil {
		l.fatal = context.Cause(ctx)
	}
	return res, l.fatal
}

// result returns the results so far by trial number, as all profilers write them.
func (r *Runner) result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := Result{Spent: r.spent(), Warnings: condensed(r.warnings)}
	for _, e := range store.ByNumber(r.results) {
		res.Measurements = append(res.Measurements, e.Measurement)
		res.Curves = append(res.Curves, e.Curve...)
	}
	return res
}

// trialOf returns attempt number attempt of a trial, ready to be launched.
func (r *Runner) trialOf(id, attempt int, c data.Config) (launch.Trial, error) {
	command, err := data.RenderCommand(r.Study.Command, c, r.Study.Source)
	if err != nil {
		return launch.Trial{}, err
	}
	if len(command) > 0 && command[0] == "knee" && r.Self != "" && r.Study.Launcher.Kubernetes == nil {
		// Use this knee, not one on the PATH. A pod uses the knee of its image.
		command[0] = r.Self
	}
	t := launch.Trial{ID: id, Attempt: attempt, Config: c, Command: command, Env: r.Study.Env, InitialBatch: r.Study.Batch.Initial}
	if r.Study.Dir != "" {
		t.Dir = r.Study.Source.Beside(r.Study.Dir)
	}
	t.Log = r.logPath(t)
	return t, nil
}

// takeChanges reads what other profilers recorded, and cancels trials they took over.
func (r *Runner) takeChanges() error {
	changes, err := r.Storage.Changes()
	r.mu.Lock()
	ended := false
	for _, c := range changes {
		if c.Warning != "" {
			r.warnings = append(r.warnings, warning{text: c.Warning})
			continue
		}
		if t := r.running[c.Trial]; t != nil {
			t.cancel(store.ErrTaken)
		}
		if c.Ended == nil {
			r.others[c.Trial] = c.Config
			continue
		}
		delete(r.others, c.Trial)
		r.results[c.Trial] = *c.Ended
		ended = true
	}
	r.mu.Unlock()
	if ended {
		r.save()
	}
	return err
}

// save writes the files of the study. A failure is reported once, and retried.
func (r *Runner) save() {
	if r.Save == nil {
		return
	}
	err := r.Save(r.result())
	if err != nil && !r.unsaved {
		r.notify(Event{Kind: Warned, Warning: fmt.Sprintf("%v; knee will retry after the next trial", err)})
	}
	r.unsaved = err != nil
}

// History is for strategies: aborted and, of earlier runs, queued trials may come again.
func (r *Runner) History() bayesopt.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := bayesopt.History{Candidates: r.Candidates}
	for _, e := range store.ByNumber(r.results) {
		m := e.Measurement
		if again := m.Status == data.Aborted || m.Status == data.Queued && r.earlier[e.Trial]; !again {
			h.Measured = append(h.Measured, m)
		}
	}
	now := maps.Clone(r.others)
	for id, t := range r.running {
		now[id] = t.config
	}
	h.Running = list.Map(slices.Sorted(maps.Keys(now)), func(id int) data.Config { return now[id] })
	return h
}

// record writes a trial's end. It fails if the first giveUpAfter trials failed.
func (r *Runner) record(out outcome) error {
	m := out.measurement
	result := store.Result{Trial: out.trial.ID, Measurement: m, Curve: out.curve, Queued: out.queued}
	err := store.ErrTaken
	if !out.taken {
		err = r.Storage.End(result)
	}
	taken := errors.Is(err, store.ErrTaken)
	r.mu.Lock()
	delete(r.running, out.trial.ID)
	if !taken {
		delete(r.others, out.trial.ID)
		r.results[out.trial.ID] = result
	}
	r.warnings = append(r.warnings, out.warnings...)
	r.mu.Unlock()
	if taken {
		r.notify(Event{Kind: TrialTaken, Trial: out.trial})
		return nil
	}
	r.notify(Event{Kind: TrialEnded, Trial: out.trial, Measurement: m, Queued: out.queued})
	r.save()
	switch m.Status {
	case data.Failed, data.Timeout:
		r.failures++
	case data.Aborted, data.Queued:
	default:
		r.failures = 0
	}
	if m.StepTime > 0 {
		r.failures = 0 // slow, but it works
	}
	anyOK := slices.ContainsFunc(store.ByNumber(r.results), func(e store.Result) bool { return e.Measurement.Status == data.OK })
	if r.failures >= giveUpAfter && !anyOK {
		log := ""
		if out.trial.Log != "" {
			log = "; its output is in " + out.trial.Log
		}
		err = errors.Join(err, fmt.Errorf("the first %d trials failed, the last (%s) because: %s%s", r.failures, out.trial.Config, m.Error, log))
	}
	return errors.Join(err, out.err)
}

func (r *Runner) spent() float64 {
	return list.Sum(store.ByNumber(r.results), func(e store.Result) float64 { return e.Measurement.Cost() })
}

// Price returns the US$ per hour of a configuration, 0 without a price. Parameter servers run
// on cores that the GPU's price includes.
func Price(s *data.Study, c data.Config) float64 {
	return s.PricePerHour[c.GPUType] * float64(c.Workers)
}

func (r *Runner) notify(e Event) {
	if r.Notify == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Progress = Progress{Done: len(r.results), Running: len(r.running) + len(r.others), Total: len(r.Candidates), Spent: r.spent()}
	if n := r.Study.Budget.Trials; n > 0 {
		e.Progress.Total = min(n, len(r.Candidates))
	}
	// Repeated measurements add to the total.
	e.Progress.Total = max(e.Progress.Total, e.Progress.Done+e.Progress.Running)
	r.Notify(e)
}

// EventKind says what happened.
type EventKind int

// Kinds of events, with the fields of Event that each sets.
const (
	StudyOpened EventKind = iota // Snapshot: what the storage held
	Warned                       // Warning
	TrialStarted
	TrialStepped // at most a few times a second: Steps
	TrialRetried // failed or preempted; it is launched again: Measurement
	TrialEnded
	TrialAdopted // its profiler died and this one continues it: Suggestion
	TrialTaken   // another profiler took it over and measures it
	TrialQueued  // the engine accepted it: Trial.Handle
	TrialBegan   // it got its nodes: Queued
	TrialQuiet   // no step was read yet: Quiet, Unread
	StorageLost  // the shared storage does not answer: Err
	StorageBack
)

// Event is something that happened. The kind says which fields are set.
type Event struct {
	Kind        EventKind
	Trial       launch.Trial
	Suggestion  bayesopt.Suggestion // TrialStarted, TrialAdopted: why this trial
	Steps       int                 // TrialStepped: read so far
	Measurement data.Measurement    // TrialRetried, TrialEnded
	Queued      time.Duration       // TrialBegan, TrialEnded: how long it waited for nodes
	Quiet       time.Duration       // TrialQuiet: for how long
	Unread      string              // TrialQuiet: its output instead of steps
	Err         error               // StorageLost
	Warning     string              // Warned
	Snapshot    *store.Snapshot     // StudyOpened
	Progress    Progress
}

// Progress is the state of a study, summed over its profilers.
type Progress struct {
	Done    int     // trials ended, those of earlier runs included
	Running int     // trials running
	Total   int     // upper limit, from the budget and the space
	Spent   float64 // US$, those of earlier runs included
}
