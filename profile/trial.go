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

// Causes of cancelling a trial.
var (
	errEnough  = errors.New("measured well enough")
	errHung    = errors.New("no step")
	errDrained = errors.New("stopped by the user while it waited for nodes")
)

// maxPreempted is how often a trial may be preempted before it is given up.
const maxPreempted = 20

// outcome is the result of one trial.
type outcome struct {
	trial       launch.Trial
	measurement data.Measurement
	curve       []data.CurvePoint
	began       time.Time     // when it started to run
	ran         time.Duration // since then
	queued      time.Duration // waiting for nodes
	preempted   bool          // by the engine
	taken       bool          // another profiler has the trial now
	warning     string        // about how it was measured
	err         error         // the launcher failed
}

// measure runs a trial, again if it was preempted, or if it failed and retries
// remain. Wall and cost sum all attempts, without the time they waited for
// nodes.
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
		case status == data.Timeout && out.measurement.StepTime > 0: // slow; a retry would be too
		case status == data.Failed || status == data.Timeout:
			failed++
			again = failed <= r.Study.Trial.Retries
		}
		if !again || out.err != nil || ctx.Err() != nil {
			return out
		}
		if r.draining() {
			// The next run measures aborted trials, with all their retries.
			out.measurement.Status = data.Aborted
			out.measurement.Error = "stopped by the user before the retry: " + out.measurement.Error
			return out
		}
		r.notify(Event{Kind: TrialRetried, Trial: t, Measurement: out.measurement})
		t.Attempt++
		t.Handle = "" // of the attempt that ended
		t.Log = r.logPath(t)
	}
}

// draining reports whether no further launch is allowed.
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
	var peak, device float64 // bytes, measured by the launcher; written before it sends to ended
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
			hang.Stop() // time in the queue is not limited
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

// queuesIn records the queueing of a trial's current attempt.
func (r *Runner) queuesIn(trial int, q *queueing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.running[trial]; t != nil {
		t.queue = q
	}
}

// quietAfter is how long a trial may run without a step before the user is
// told: it may be loading data, or the study's metrics do not match its log,
// which should not show only at the timeout.
func quietAfter(timeout time.Duration) time.Duration { return min(30*time.Second, orNever(timeout)/2) }

// submittedTo returns the callback that records the engine's handle of a trial.
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

// orNever returns d, or the longest duration if d is not positive.
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
			end.Error += printed // output in place of steps, added by the launcher
		}
		if m.Observed() > 0 && reading.Steps < meter.FewestSteps {
			// It makes steps, each longer than the timeout.
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
