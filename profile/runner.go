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
	"knee/fit/gradnoise"
	"knee/profile/launch"
)

// Runner measures a study: it asks the strategy what to measure, launches
// trials, and records each before it asks again. Several runners, in several
// processes, may share a study through its Storage.
type Runner struct {
	Study      *data.Study
	Candidates []data.Config
	Strategy   bayesopt.Strategy
	Launcher   launch.Launcher
	Storage    Storage
	Past       *Past // what the storage held; nil for nothing
	LogDir     string
	Self       string          // the program that "knee" at the start of a command stands for
	Notify     func(Event)     // called from several goroutines, one at a time; may be nil
	Drain      <-chan struct{} // when closed, running trials finish and none is started

	mu       sync.Mutex // guards what follows, and calls of Notify
	ended    []data.Measurement
	curves   []data.CurvePoint
	running  map[int]*flight
	others   map[int]data.Config // trials that other profilers run, by number
	at       map[int]int         // where in ended a trial of this run is, by number
	begun    time.Time
	warnings []string
	failures int              // trials that failed since one did not
	noise    *gradnoise.Scale // of the first noiseAt trials
	noiseAt  int
}

// Result is what a study has come to.
type Result struct {
	Measurements []data.Measurement // every finished trial, those of earlier runs first
	Curves       []data.CurvePoint
	Stopped      string  // why no further trial was started
	Drained      bool    // it was stopped by the user, the rest is still to be measured
	Spent        float64 // US$
	Warnings     []string
}

// giveUpAfter is how many trials may fail one after another, before any has
// succeeded, until a study is taken to be broken.
const giveUpAfter = 3

// flight is a trial of this runner while it runs.
type flight struct {
	config data.Config
	cancel context.CancelCauseFunc
}

// Run measures until the strategy has seen enough, the budget is spent, or
// Drain or ctx ends it. While trials of other profilers run it stays, to take
// over those whose profiler is lost. What was measured is returned with every
// error.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	if err := r.prepare(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &loop{r: r, ctx: ctx, cancel: cancel, done: make(chan outcome), drain: r.Drain, ended: ctx.Done()}
	l.run()
	res := Result{Measurements: r.ended, Curves: r.curves, Spent: r.spent(), Stopped: l.why, Drained: l.drained, Warnings: r.warnings}
	if l.fatal == nil && ctx.Err() != nil {
		l.fatal = context.Cause(ctx)
	}
	return res, l.fatal
}

// prepare takes over what earlier runs measured.
func (r *Runner) prepare() error {
	r.begun = time.Now()
	r.running = map[int]*flight{}
	r.others = map[int]data.Config{}
	r.at = map[int]int{}
	if r.Past != nil {
		r.curves = append(r.curves, r.Past.Curves...)
		r.ended = append(r.ended, r.Past.Measurements...)
	}
	if r.LogDir != "" {
		if err := os.MkdirAll(r.LogDir, 0o755); err != nil {
			return fmt.Errorf("make the folder for the trials' logs: %w", err)
		}
	}
	return nil
}

// trialOf returns attempt number attempt of a trial, ready to be launched.
func (r *Runner) trialOf(id, attempt int, c data.Config) (launch.Trial, error) {
	command, err := Command(r.Study, c)
	if err != nil {
		return launch.Trial{}, err
	}
	if len(command) > 0 && command[0] == "knee" && r.Self != "" && r.Study.Launcher.Kubernetes == nil {
		// So that no installed knee is needed, and never another. A pod has
		// that of its image, and none at this path.
		command[0] = r.Self
	}
	t := launch.Trial{ID: id, Attempt: attempt, Config: c, Command: command,
		Env: r.Study.Env, Dir: r.Study.Dir, InitialBatch: r.Study.Batch.Initial}
	t.Log = r.logPath(t)
	return t, nil
}

// news takes over what other profilers have recorded. A trial of ours that
// another has taken over is stopped here: it is measured there.
func (r *Runner) news() error {
	changes, err := r.Storage.News()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		if c.Warning != "" {
			r.warnings = append(r.warnings, c.Warning)
			continue
		}
		if f := r.running[c.Trial]; f != nil {
			f.cancel(ErrTaken)
		}
		if c.Ended == nil {
			r.others[c.Trial] = c.Config
			continue
		}
		delete(r.others, c.Trial)
		r.keep(c.Trial, *c.Ended)
	}
	return err
}

// keep adds what a trial yielded to what is known. Should the trial be known
// already, because what we measured came too late to count, what counts
// replaces it.
func (r *Runner) keep(trial int, e Ending) {
	if i, ok := r.at[trial]; ok {
		r.ended[i] = e.Measurement
		run := emptyPoint("", trial).Run
		r.curves = slices.DeleteFunc(r.curves, func(p data.CurvePoint) bool { return p.Run == run })
	} else {
		r.at[trial] = len(r.ended)
		r.ended = append(r.ended, e.Measurement)
	}
	r.curves = append(r.curves, e.Curve...)
}

// History returns what a strategy may know now. Trials that were aborted
// are not in it: they say nothing, and may be chosen again.
func (r *Runner) History() bayesopt.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := bayesopt.History{Candidates: r.Candidates}
	for _, m := range r.ended {
		if m.Status != data.Aborted {
			h.Measured = append(h.Measured, m)
		}
	}
	now := maps.Clone(r.others)
	for id, f := range r.running {
		now[id] = f.config
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		h.Running = append(h.Running, now[id])
	}
	return h
}

// record writes the end of a trial to the storage and to what is known.
func (r *Runner) record(out outcome) error {
	m := out.measurement
	err := ErrTaken
	if !out.taken {
		err = r.Storage.End(out.trial.ID, Ending{Measurement: m, Curve: out.curve, Queued: out.queued})
	}
	r.mu.Lock()
	delete(r.running, out.trial.ID)
	if !errors.Is(err, ErrTaken) {
		delete(r.others, out.trial.ID)
		r.keep(out.trial.ID, Ending{Measurement: m, Curve: out.curve})
	}
	r.mu.Unlock()
	if errors.Is(err, ErrTaken) {
		r.notify(Event{Kind: TrialTaken, Trial: out.trial})
		return nil
	}
	r.notify(Event{Kind: TrialEnded, Trial: out.trial, Measurement: m, Queued: out.queued})
	switch m.Status {
	case data.Failed, data.Timeout:
		r.failures++
	case data.Aborted:
	default:
		r.failures = 0
	}
	if r.failures >= giveUpAfter && !r.anyOK() {
		hint := ""
		if out.trial.Log != "" {
			hint = "; its output is in " + out.trial.Log
		}
		err = errors.Join(err, fmt.Errorf("the first %d trials failed, the last (%s) because: %s%s", r.failures, out.trial.Config, m.Error, hint))
	}
	return errors.Join(err, out.err)
}

func (r *Runner) anyOK() bool {
	for _, m := range r.ended {
		if m.Status == data.OK {
			return true
		}
	}
	return false
}

// overBudget returns which part of the budget is spent, empty if none is.
func (r *Runner) overBudget() string {
	b := r.Study.Budget
	trials := len(r.running) + len(r.others)
	wall := time.Since(r.begun)
	if r.Past != nil {
		wall += r.Past.Wall
	}
	for _, m := range r.ended {
		if m.Status != data.Aborted {
			trials++
		}
	}
	switch {
	case b.Trials > 0 && trials >= b.Trials:
		return fmt.Sprintf("the budget of %d trials is spent", b.Trials)
	case b.Cost > 0 && r.spent() >= b.Cost:
		return fmt.Sprintf("the budget of $%.2f is spent", b.Cost)
	case b.Wall > 0 && wall >= b.Wall:
		return fmt.Sprintf("the budget of %s is spent", b.Wall)
	}
	return ""
}

// spent returns the US$ of all ended trials.
func (r *Runner) spent() float64 {
	var sum float64
	for _, m := range r.ended {
		sum += m.Cost()
	}
	return sum
}

// price returns the US$ per hour of a whole configuration, 0 if not known.
func (r *Runner) price(c data.Config) float64 { return Price(r.Study, c) }

// Price returns the US$ per hour of a configuration by the prices of a
// study, 0 if it has none for the GPU type. Parameter servers are not
// charged: they run on cores that the GPU's price includes.
func Price(s *data.Study, c data.Config) float64 {
	return s.PricePerHour[c.GPUType] * float64(c.Workers)
}

// notify reports an event together with the progress.
func (r *Runner) notify(e Event) {
	if r.Notify == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Progress = Progress{Done: len(r.ended), Running: len(r.running) + len(r.others), Total: len(r.Candidates), Spent: r.spent()}
	if n := r.Study.Budget.Trials; n > 0 {
		e.Progress.Total = min(n, len(r.Candidates))
	}
	// Configurations that are measured again come on top.
	e.Progress.Total = max(e.Progress.Total, e.Progress.Done+e.Progress.Running)
	r.Notify(e)
}
