package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/profile/store"
)

// loop is one [Runner.Run]. Everything in it belongs to one goroutine.
type loop struct {
	r       *Runner
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    chan outcome    // trials that ended
	drain   <-chan struct{} // nil once it was seen
	ended   <-chan struct{} // ctx.Done(), nil once it was seen
	why     string          // why nothing was started when last tried
	closed  bool            // nothing will be started any more
	drained bool
	away    bool // the database does not answer
	fatal   error
}

// waitForResults is why nothing is started if that may change when a running
// trial ends or another profiler does something.
const waitForResults = "wait"

// maxLosses is how many profilers may be lost while they ran one trial,
// until the trial is taken to be what kills them.
const maxLosses = 3

func (l *loop) run() {
	poll := l.r.Storage.Poll()
	var tick <-chan time.Time
	if poll > 0 {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
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
			l.stopDraining()
		case <-l.ended:
			l.ended = nil
			l.close("interrupted")
		case <-tick:
			l.note(l.r.takeChanges())
		}
	}
}

// stopDraining lets the running trials finish. Those that still wait for nodes
// are withdrawn: they could keep the user waiting for days.
func (l *loop) stopDraining() {
	l.drain = nil
	l.close("interrupted")
	l.drained = true
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	for _, t := range l.r.running {
		if t.queue != nil && t.queue.waiting() {
			t.cancel(errDrained)
		}
	}
}

// finished reports whether there is nothing left to wait for.
func (l *loop) finished() bool {
	switch {
	case len(l.r.running) > 0:
		return false
	case l.closed:
		return true
	}
	return l.why != waitForResults && len(l.r.others) == 0
}

// close says that nothing will be started any more. The first reason stays.
func (l *loop) close(why string) {
	if !l.closed {
		l.closed, l.why = true, why
	}
}

func (l *loop) fail(err error) {
	l.fatal = errors.Join(l.fatal, err)
	l.close("an error")
}

// note looks at the error of a storage. One that does not answer is reported
// once and waited for; how long is for the storage to say.
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

// fill starts trials until as many run as may, or there is a reason not to.
func (l *loop) fill() {
	for !l.closed && len(l.r.running) < max(l.r.Study.Parallel, 1) {
		select {
		case <-l.drain:
			l.stopDraining()
			return
		case <-l.ended:
			l.ended = nil
			l.close("interrupted")
			return
		default:
		}
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

// startOne starts a trial: one that lost its profiler, or the next one. It
// returns why none was started, empty if one was.
func (l *loop) startOne() (string, error) {
	r := l.r
	if err := r.takeChanges(); err != nil {
		return "", err
	}
	u, err := r.Storage.Adopt()
	if err != nil {
		return "", err
	}
	if u != nil {
		return "", l.resume(*u)
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
	// Rendered before it is recorded: a command that cannot be is no trial.
	if _, err := data.RenderCommand(r.Study.Command, s.Config, r.Study.Source); err != nil {
		return "", err
	}
	id, err := r.Storage.Begin(s.Config)
	if err != nil {
		return "", err
	}
	return "", l.launch(store.Unfinished{Trial: id, Attempt: 1, Config: s.Config}, TrialStarted, s)
}

// resume continues with a trial that another run had begun.
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
	m := data.Measurement{Config: u.Config, Architecture: l.r.Study.Model, Status: data.Failed, PricePerHour: Price(l.r.Study, u.Config),
		Error: fmt.Sprintf("%d profilers died while running it", u.Losses)}
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
