package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/profile/store"
)

// loop is the state of one [Runner.Run], used by one goroutine.
type loop struct {
	r       *Runner
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    chan outcome    // trials that ended
	drain   <-chan struct{} // nil once handled
	ended   <-chan struct{} // ctx.Done(), nil once handled
	why     string          // why the last attempt started no trial
	closed  bool            // no further trial is started
	drained bool
	away    bool // the database does not answer
	fatal   error
}

// waitForResults may change when a trial ends, or another profiler records something.
const waitForResults = "wait"

// maxLosses is how many profilers may die with a trial before it counts as the cause.
const maxLosses = 3

func (l *loop) run() {
	tick := time.Tick(l.r.Storage.Poll()) // nil without other profilers
	for {
		l.fill()
		if l.finished() {
			return
		}
		select {
		case out := <-l.done:
			if err := l.r.record(out); err != nil {
				l.fail(err)
				l.cancel(nil)
			}
		case <-l.drain:
			l.drain = nil
		case <-l.ended:
			l.ended = nil
		case <-tick:
			// A storage that can be read may still refuse the next trial.
			if err := l.r.takeChanges(); err != nil || !l.room() {
				l.note(err)
			}
		}
	}
}

// heed starts no more trials if asked to stop; those that wait for nodes cancel themselves.
func (l *loop) heed() {
	l.drained = l.drained || l.r.draining()
	if l.drained || l.ctx.Err() != nil {
		l.close("interrupted")
	}
}

func (l *loop) finished() bool {
	switch {
	case len(l.r.running) > 0:
		return false
	case l.closed:
		return true
	}
	return l.why != waitForResults && len(l.r.others) == 0
}

func (l *loop) close(why string) {
	if !l.closed {
		l.closed, l.why = true, why
	}
}

func (l *loop) fail(err error) {
	l.fatal = errors.Join(l.fatal, err)
	l.close("an error")
}

// note handles the error of a storage. An unreachable one is reported once.
func (l *loop) note(err error) {
	switch {
	case errors.Is(err, store.ErrUnreachable):
		if !l.away {
			l.r.notify(Event{Kind: StorageLost, Err: err})
		}
		l.away = true
	case err != nil:
		l.fail(err)
	case l.away:
		l.away = false
		l.r.notify(Event{Kind: StorageBack})
	}
}

func (l *loop) room() bool { return !l.closed && len(l.r.running) < max(l.r.Study.Parallel, 1) }

// fill starts trials until Study.Parallel run, or there is a reason not to.
func (l *loop) fill() {
	for l.heed(); l.room(); l.heed() {
		why, err := l.startOne()
		if errors.Is(err, store.ErrOvertaken) {
			continue
		}
		l.note(err)
		if errors.Is(err, store.ErrUnreachable) {
			why = waitForResults
		}
		if err != nil || why != "" {
			if !l.closed {
				l.why = why
			}
			return
		}
	}
}

// startOne starts a trial: a dead profiler's, else the next. It returns why none was.
func (l *loop) startOne() (string, error) {
	r := l.r
	if err := r.takeChanges(); err != nil {
		return "", err
	}
	u, err := r.Storage.Adopt()
	switch {
	case err != nil:
		return "", err
	case u != nil:
		return "", l.resume(*u)
	}
	h := r.History()
	over := r.Study.Budget.Spent(r.result().Measurements, len(h.Running), time.Since(r.begun)+r.Snapshot.Wall())
	if over != "" && len(h.Running) > 0 {
		return over, nil
	}
	s, err := r.Strategy.Next(h)
	switch {
	case over != "":
		return strings.TrimSuffix(over+"; "+s.Answer, "; "), nil
	case err != nil:
		return "", fmt.Errorf("choose the next configuration: %w", err)
	}
	if s.Stop {
		if len(h.Running) > 0 {
			return waitForResults, nil // their results may change that
		}
		return cmp.Or(s.Reason, "the strategy has seen enough"), nil
	}
	// Render first: a trial whose command cannot be rendered is not recorded.
	if _, err := data.RenderCommand(r.Study.Command, s.Config, r.Study.Source); err != nil {
		return "", err
	}
	id, err := r.Storage.Begin(s.Config)
	if err != nil {
		return "", err
	}
	return "", l.launch(store.Unfinished{Trial: id, Attempt: 1, Config: s.Config}, TrialStarted, s)
}

func (l *loop) resume(u store.Unfinished) error {
	s := bayesopt.Suggestion{Config: u.Config, Reason: "previous profiler died; running it again"}
	if u.Handle != "" {
		s.Reason = "submitted as " + u.Handle + " by an earlier run; following it"
	}
	if u.Losses < maxLosses || u.Handle != "" {
		return l.launch(u, TrialAdopted, s)
	}
	t, err := l.r.trialOf(u.Trial, u.Attempt, u.Config)
	if err != nil {
		return err
	}
	m := data.Measurement{Config: u.Config, Status: data.Failed, PricePerHour: Price(l.r.Study, u.Config),
		Error: fmt.Sprintf("%d profilers died while running it", u.Losses)}
	m.Architecture = l.r.Study.Model
	return l.r.record(outcome{trial: t, measurement: m})
}

func (l *loop) launch(u store.Unfinished, kind EventKind, s bayesopt.Suggestion) error {
	r := l.r
	t, err := r.trialOf(u.Trial, u.Attempt, u.Config)
	if err != nil {
		return err
	}
	t.Handle = u.Handle
	ctx, cancel := context.WithCancelCause(l.ctx)
	r.mu.Lock()
	delete(r.others, t.ID)
	r.running[t.ID] = &running{config: t.Config, cancel: cancel}
	r.mu.Unlock()
	r.notify(Event{Kind: kind, Trial: t, Suggestion: s})
	go func() {
		out := r.measure(ctx, t)
		out.taken = errors.Is(context.Cause(ctx), store.ErrTaken)
		cancel(nil)
		l.done <- out
	}()
	return nil
}
