package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Why a trial was ended from outside.
var (
	errEnough = errors.New("measured well enough")
	errHung   = errors.New("no step")
)

// maxPreempted is how often the nodes of a trial may be taken away until it
// is given up: a cluster that does so again and again will not let it finish.
const maxPreempted = 20

// outcome is what one trial came to.
type outcome struct {
	trial       launch.Trial
	measurement data.Measurement
	curve       []data.CurvePoint
	began       time.Time     // when it ran, after any queueing
	ran         time.Duration // since then
	queued      time.Duration // waiting for nodes
	preempted   bool          // the engine took the nodes away
	taken       bool          // another profiler has the trial now
	err         error         // the launcher could not do its work
}

// measure runs a trial, again if it fails and the study allows it, and
// returns what it yielded. Wall and cost are those of all its attempts, and
// leave out the time they waited for nodes.
func (r *Runner) measure(ctx context.Context, t launch.Trial) outcome {
	var began time.Time
	var ran, queued time.Duration
	failed, preempted := 0, 0
	for {
		out := r.attempt(ctx, t)
		if began.IsZero() {
			began = out.began
		}
		ran += out.ran
		queued += out.queued
		out.queued = queued
		out.measurement.StartedAt = began.UTC().Truncate(time.Millisecond)
		out.measurement.Wall = ran.Seconds()
		again := false
		switch status := out.measurement.Status; {
		case out.preempted:
			preempted++
			again = preempted <= maxPreempted
		case status == data.Failed || status == data.Timeout:
			failed++
			again = failed <= r.Study.Trial.Retries
		}
		if !again || out.err != nil || ctx.Err() != nil {
			return out
		}
		if r.draining() {
			// Not a result: the next run measures it, with all its tries.
			out.measurement.Status = data.Aborted
			out.measurement.Error = "stopped by the user before it was tried again: " + out.measurement.Error
			return out
		}
		r.notify(Event{Kind: TrialRetried, Trial: t, Measurement: out.measurement})
		t.Attempt++
		t.Handle = "" // that one has ended
		t.Log = r.logPath(t)
	}
}

// draining reports whether the user wants nothing more to be launched.
func (r *Runner) draining() bool {
	select {
	case <-r.Drain:
		return true
	default:
		return false
	}
}

// logPath names the file that keeps what a trial prints.
func (r *Runner) logPath(t launch.Trial) string {
	if r.LogDir == "" {
		return ""
	}
	return filepath.Join(r.LogDir, fmt.Sprintf("trial-%03d-%d.log", t.ID, t.Attempt))
}

// attempt launches a trial once and meters it.
func (r *Runner) attempt(ctx context.Context, t launch.Trial) outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	obs := make(chan launch.Observation, 256)
	ended := make(chan error, 1)
	q := newQueueing(t)
	t.Submitted, t.Began = r.submittedTo(t, q), q.beganAt
	go func() { ended <- r.Launcher.Launch(ctx, t, obs) }()

	meter := NewMeter(r.Study.Trial, t.Config)
	hang := newHangTimer(r.Study.Trial.Timeout)
	defer hang.Stop()
	quiet := time.NewTimer(quietAfter(r.Study.Trial.Timeout))
	defer quiet.Stop()
	if q.waiting() {
		hang.Stop()
	}
	for {
		select {
		case <-quiet.C:
			if len(meter.steps) == 0 && !q.waiting() {
				r.notify(Event{Kind: TrialQuiet, Trial: t, Quiet: quietAfter(r.Study.Trial.Timeout)})
			}
		case o := <-obs:
			q.seenRunning(time.Now())
			restart(hang, r.Study.Trial.Timeout)
			r.step(ctx, cancel, meter, t, o)
		case <-q.submitted:
			hang.Stop() // in a queue it may wait for as long as it takes
		case <-q.began:
			restart(hang, r.Study.Trial.Timeout)
			quiet.Reset(quietAfter(r.Study.Trial.Timeout))
			r.notify(Event{Kind: TrialBegan, Trial: t, Queued: q.queued(time.Now())})
		case <-hang.C:
			if !q.waiting() {
				cancel(errHung)
			}
		case err := <-ended:
			for len(obs) > 0 {
				q.seenRunning(time.Now())
				r.step(ctx, cancel, meter, t, <-obs)
			}
			out := r.conclude(t, meter, err)
			now := time.Now()
			out.began, out.ran, out.queued = q.beginning(), q.ran(now), q.queued(now)
			return out
		}
	}
}

// quietAfter is how long a trial may take to its first step until that is
// remarked on: it may be reading its data, or its log may not be what the study
// says, which the user should not have to wait for the timeout to learn.
func quietAfter(timeout time.Duration) time.Duration { return min(30*time.Second, patience(timeout)/2) }

// submittedTo returns the callback that records what an engine calls a trial.
func (r *Runner) submittedTo(t launch.Trial, q *queueing) func(string) error {
	return func(handle string) error {
		if err := r.Storage.Submitted(t.ID, t.Attempt, handle); err != nil {
			return err
		}
		q.submit()
		t.Handle = handle
		r.notify(Event{Kind: TrialQueued, Trial: t})
		return nil
	}
}

// newHangTimer returns a timer that never fires if d is not positive.
func newHangTimer(d time.Duration) *time.Timer { return time.NewTimer(patience(d)) }

// restart lets a timer run anew.
func restart(t *time.Timer, d time.Duration) { t.Reset(patience(d)) }

func patience(d time.Duration) time.Duration {
	if d <= 0 {
		return math.MaxInt64
	}
	return d
}

// step feeds one observation to the meter, unless the trial is being ended.
func (r *Runner) step(ctx context.Context, cancel context.CancelCauseFunc, meter *Meter, t launch.Trial, o launch.Observation) {
	if ctx.Err() != nil {
		return
	}
	if meter.Add(o) {
		cancel(errEnough)
	}
	r.notify(Event{Kind: TrialStepped, Trial: t, Observation: o})
}

// conclude turns the end of a trial into its measurement.
func (r *Runner) conclude(t launch.Trial, meter *Meter, err error) outcome {
	m := data.Measurement{Config: t.Config, Status: data.OK, PricePerHour: r.price(t.Config)}
	out := outcome{trial: t, curve: curveOf(t.Config, t.ID, meter.steps)}
	var failure *launch.Failure
	switch reading := meter.Read(); {
	case err == nil || errors.Is(err, errEnough):
		m.StepTime, m.StepTimeSD, m.SyncTime, m.Steps = reading.StepTime, reading.SD, reading.SyncTime, reading.Steps
		if reading.Steps < minTimedSteps {
			m = data.Measurement{Config: t.Config, PricePerHour: m.PricePerHour, Status: data.Failed,
				Error: fmt.Sprintf("it ended after %d steps, want at least %d after warm-up", len(meter.steps), minTimedSteps)}
		}
	case errors.Is(err, errHung):
		m.Status = data.Timeout
		m.Error = fmt.Sprintf("no step for %s (after %d steps)", r.Study.Trial.Timeout, len(meter.steps))
		if printed, ok := strings.CutPrefix(err.Error(), errHung.Error()); ok {
			m.Error += printed // instead of steps, as the launcher adds it
		}
	case errors.As(err, &failure):
		m.Status, m.Error, out.preempted = failure.Status, failure.Detail, failure.Preempted
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTaken):
		m.Status, m.Error = data.Aborted, "stopped by the user"
	default:
		m.Status, m.Error = data.Aborted, err.Error()
		out.err = fmt.Errorf("trial %d: %w", t.ID, err)
	}
	out.measurement = m
	return out
}
