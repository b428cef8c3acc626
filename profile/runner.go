package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
	"knee/profile/launch"
)

// Runner measures a study: it asks the strategy what to measure, launches
// trials, and records each in the journal before it asks again.
type Runner struct {
	Study      *data.Study
	Candidates []data.Config
	Strategy   bayesopt.Strategy
	Launcher   launch.Launcher
	Journal    *Journal
	Past       *Past // what the journal held; nil for nothing
	LogDir     string
	Self       string          // the program that "knee" at the start of a command stands for
	Notify     func(Event)     // called from several goroutines, one at a time; may be nil
	Drain      <-chan struct{} // when closed, running trials finish and none is started

	mu       sync.Mutex // guards what follows, and calls of Notify
	ended    []data.Measurement
	curves   []data.CurvePoint
	running  map[int]data.Config
	begun    time.Time
	lastID   int
	failures int             // trials that failed since one did not
	noise    *fit.NoiseScale // of the first noiseAt trials
	noiseAt  int
}

// Result is what a study has come to.
type Result struct {
	Measurements []data.Measurement // every finished trial, those of earlier runs first
	Curves       []data.CurvePoint
	Stopped      string  // why no further trial was started
	Drained      bool    // it was stopped by the user, the rest is still to be measured
	Spent        float64 // US$
}

// giveUpAfter is how many trials may fail one after another, before any has
// succeeded, until a study is taken to be broken.
const giveUpAfter = 3

// Run measures until the strategy has seen enough, the budget is spent, or
// Drain or ctx ends it. What was measured is returned with every error.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	if err := r.prepare(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome)
	drain := r.Drain
	res := Result{}
	var fatal error
	for {
		for res.Stopped == "" && len(r.running) < max(r.Study.Parallel, 1) {
			why, err := r.launchNext(ctx, done)
			if err != nil {
				fatal = errors.Join(fatal, err)
				why = "an error"
			}
			if why == waitForResults {
				break
			}
			res.Stopped = why
		}
		if len(r.running) == 0 {
			if res.Stopped == "" { // drained before anything was started
				res.Stopped, res.Drained = "interrupted", true
			}
			break
		}
		select {
		case out := <-done:
			if err := r.record(out); err != nil {
				fatal = errors.Join(fatal, err)
				res.Stopped = "an error"
				cancel()
			}
		case <-drain:
			drain = nil
			res.Stopped, res.Drained = "interrupted", true
		}
	}
	res.Measurements, res.Curves, res.Spent = r.ended, r.curves, r.spent()
	if fatal == nil && ctx.Err() != nil {
		fatal = context.Cause(ctx)
	}
	return res, fatal
}

// prepare takes over what earlier runs measured.
func (r *Runner) prepare() error {
	r.begun = time.Now()
	r.running = map[int]data.Config{}
	if r.Past != nil {
		r.lastID = r.Past.LastTrial
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

// waitForResults is the answer of launchNext when nothing can be started
// before a running trial ends.
const waitForResults = "wait"

// launchNext starts the next trial. It returns why none was started, empty
// if one was.
func (r *Runner) launchNext(ctx context.Context, done chan<- outcome) (string, error) {
	if ctx.Err() != nil {
		return "interrupted", nil
	}
	if r.Drain != nil {
		select {
		case <-r.Drain:
			return waitForResults, nil // Run sees it too, and says so
		default:
		}
	}
	if why := r.overBudget(); why != "" {
		return why, nil
	}
	h := r.History()
	s, err := r.Strategy.Next(h)
	if err != nil {
		return "", fmt.Errorf("choose the next configuration: %w", err)
	}
	if s.Stop {
		if len(h.Running) > 0 {
			return waitForResults, nil // their results may change its mind
		}
		return cmp.Or(s.Reason, "the strategy has seen enough"), nil
	}
	command, err := Command(r.Study, s.Config)
	if err != nil {
		return "", err
	}
	if len(command) > 0 && command[0] == "knee" && r.Self != "" {
		command[0] = r.Self // so that no installed knee is needed, and never another
	}
	r.lastID++
	t := launch.Trial{ID: r.lastID, Attempt: 1, Config: s.Config, Command: command,
		Env: r.Study.Env, Dir: r.Study.Dir, InitialBatch: r.Study.Batch.Initial}
	t.Log = r.logPath(t)
	if err := r.Journal.start(t.ID, t.Config, time.Now()); err != nil {
		return "", err
	}
	r.mu.Lock()
	r.running[t.ID] = t.Config
	r.mu.Unlock()
	r.notify(Event{Kind: TrialStarted, Trial: t, Suggestion: s})
	go func() { done <- r.measure(ctx, t) }()
	return "", nil
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
	for id := 1; id <= r.lastID; id++ {
		if c, ok := r.running[id]; ok {
			h.Running = append(h.Running, c)
		}
	}
	return h
}

// record writes the end of a trial to the journal and to what is known.
func (r *Runner) record(out outcome) error {
	m := out.measurement
	err := r.Journal.finish(out.trial.ID, m, out.curve)
	r.mu.Lock()
	delete(r.running, out.trial.ID)
	r.ended = append(r.ended, m)
	r.curves = append(r.curves, out.curve...)
	r.mu.Unlock()
	r.notify(Event{Kind: TrialEnded, Trial: out.trial, Measurement: m})
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
	trials := len(r.running)
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
	e.Progress = Progress{Done: len(r.ended), Running: len(r.running), Total: len(r.Candidates), Spent: r.spent()}
	if n := r.Study.Budget.Trials; n > 0 {
		e.Progress.Total = min(n, len(r.Candidates))
	}
	r.Notify(e)
}
