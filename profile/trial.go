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
	"knee/profile/meter"
	"knee/profile/store"
)

// Why a trial was ended from outside.
var (
	errEnough  = errors.New("measured well enough")
	errHung    = errors.New("no step")
	errDrained = errors.New("stopped by the user while it waited for nodes")
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
	warning     string        // about how it was measured
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
		case status == data.Timeout && out.measurement.StepTime > 0: // slow: it would be again
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
			out.measurement.Error = "stopped by the user before the retry: " + out.measurement.Error
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
	t.Submitted, t.Began, t.Waiting = r.submittedTo(t, q), q.beganAt, q.submit
	r.queuesIn(t.ID, q)
	var peak, device float64 // bytes, as seen from outside; written before ended is
	t.Used = func(p, d float64) { peak, device = p, d }
	go func() { ended <- r.Launcher.Launch(ctx, t, obs) }()

	m := meter.New(r.Study.Trial, r.Study.Metrics.Rank, t.Config)
	var first, told time.Time
	take := func(o launch.Observation) (enough bool) {
		if m.Observed() == 0 && !o.OfMemory() {
			first = o.At
		}
		return (ctx.Err() == nil || o.OfMemory()) && m.Add(o)
	}
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
			if m.Observed() == 0 && !q.waiting() {
				r.notify(Event{Kind: TrialQuiet, Trial: t, Quiet: quietAfter(r.Study.Trial.Timeout), Unread: launch.Unread(t.Log)})
			}
		case o := <-obs:
			now := time.Now()
			q.seenRunning(now)
			restart(hang, r.Study.Trial.Timeout)
			if take(o) {
				cancel(errEnough)
			}
			if now.Sub(told) >= tellEvery {
				told = now
				r.notify(Event{Kind: TrialStepped, Trial: t, Steps: m.Observed()})
			}
		case <-q.submitted:
			hang.Stop() // in a queue it may wait for as long as it takes
			if r.draining() {
				cancel(errDrained)
			}
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
				take(<-obs)
			}
			m.SeenOutside(peak, device)
			out := r.conclude(t, m, err)
			if err := writeRanks(t, m.Ranks()); err != nil {
				out.warning = err.Error()
			}
			now := time.Now()
			out.began, out.ran, out.queued = q.beginning(), q.ran(now), q.queued(now)
			if !first.IsZero() && !q.followed {
				out.measurement.StartSeconds = max(first.Sub(q.beginning()), 0).Seconds()
			}
			return out
		}
	}
}

// tellEvery is how often the steps of a trial are reported.
const tellEvery = 200 * time.Millisecond

// queuesIn notes where an attempt of a trial waits.
func (r *Runner) queuesIn(trial int, q *queueing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.running[trial]; t != nil {
		t.queue = q
	}
}

// quietAfter is how long a trial may take to its first step until that is
// remarked on: it may be reading its data, or its log may not be what the study
// says, which the user should not have to wait for the timeout to learn.
func quietAfter(timeout time.Duration) time.Duration { return min(30*time.Second, orNever(timeout)/2) }

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

func newHangTimer(d time.Duration) *time.Timer { return time.NewTimer(orNever(d)) }

func restart(t *time.Timer, d time.Duration) { t.Reset(orNever(d)) }

// orNever returns a time that does not come for none.
func orNever(d time.Duration) time.Duration {
	if d <= 0 {
		return math.MaxInt64
	}
	return d
}

func (r *Runner) conclude(t launch.Trial, m *meter.Meter, err error) outcome {
	out := outcome{trial: t, curve: m.Curve(t.ID), measurement: data.Measurement{Config: t.Config, PricePerHour: Price(r.Study, t.Config), Architecture: r.Study.Model}}
	end := &out.measurement
	var failure *launch.Failure
	reading := m.Read()
	end.PeakMemory, end.GPUMemory = reading.PeakMemory, reading.DeviceMemory
	switch {
	case (err == nil || errors.Is(err, errEnough)) && reading.Steps >= meter.FewestSteps:
		end.Status = data.OK
		end.StepTime, end.StepTimeSD, end.SyncTime, end.Steps = reading.StepTime, reading.SD, reading.SyncTime, reading.Steps
		end.StepTimeSE = reading.SE
		if reading.Hurried {
			out.warning = fmt.Sprintf("trial %d (%s): of its %d steps only %d were dropped as warm-up, not the %d of the study",
				t.ID, t.Config, reading.Steps+reading.Warmup, reading.Warmup, r.Study.Trial.Warmup)
		}
	case err == nil || errors.Is(err, errEnough):
		end.Status = data.Failed
		end.Error = fmt.Sprintf("it ended after %d steps, want at least %d after warm-up", m.Observed(), meter.FewestSteps)
	case errors.Is(err, errHung):
		end.Status = data.Timeout
		end.Error = fmt.Sprintf("no step for %s (after %d steps)", r.Study.Trial.Timeout, m.Observed())
		if printed, ok := strings.CutPrefix(err.Error(), errHung.Error()); ok {
			end.Error += printed // instead of steps, as the launcher adds it
		}
		if m.Observed() > 0 && reading.Steps < meter.FewestSteps {
			// It steps, and a step takes longer than that.
			end.StepTime = r.Study.Trial.Timeout.Seconds()
			end.Error += "; a step takes longer than trial.timeout"
		}
	case errors.As(err, &failure):
		end.Status, end.Error, out.preempted = failure.Status, failure.Detail, failure.Preempted
	case errors.Is(err, errDrained):
		end.Status, end.Error = data.Aborted, errDrained.Error()
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrTaken):
		end.Status, end.Error = data.Aborted, "stopped by the user"
	default:
		end.Status, end.Error = data.Aborted, err.Error()
		out.err = fmt.Errorf("trial %d: %w", t.ID, err)
	}
	return out
}
