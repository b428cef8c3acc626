package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Why a trial was ended from outside.
var (
	errEnough = errors.New("measured well enough")
	errHung   = errors.New("no step")
)

// outcome is what one trial came to.
type outcome struct {
	trial       launch.Trial
	measurement data.Measurement
	curve       []data.CurvePoint
	err         error // the launcher could not do its work
}

// measure runs a trial, again if it fails and the study allows it, and
// returns what it yielded. Wall and cost are those of all its attempts.
func (r *Runner) measure(ctx context.Context, t launch.Trial) outcome {
	started := time.Now()
	for {
		out := r.attempt(ctx, t)
		out.measurement.StartedAt = started.UTC().Truncate(time.Millisecond)
		out.measurement.Wall = time.Since(started).Seconds()
		status := out.measurement.Status
		again := out.err == nil && (status == data.Failed || status == data.Timeout) && t.Attempt <= r.Study.Trial.Retries
		if !again || ctx.Err() != nil {
			return out
		}
		r.notify(Event{Kind: TrialRetried, Trial: t, Measurement: out.measurement})
		t.Attempt++
		t.Log = r.logPath(t)
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
	go func() { ended <- r.Launcher.Launch(ctx, t, obs) }()

	meter := NewMeter(r.Study.Trial, t.Config)
	hang := newHangTimer(r.Study.Trial.Timeout)
	defer hang.Stop()
	for {
		select {
		case o := <-obs:
			hang.Reset(r.Study.Trial.Timeout)
			r.step(ctx, cancel, meter, t, o)
		case <-hang.C:
			cancel(errHung)
		case err := <-ended:
			for len(obs) > 0 {
				r.step(ctx, cancel, meter, t, <-obs)
			}
			return r.conclude(t, meter, err)
		}
	}
}

// newHangTimer returns a timer that never fires if d is not positive.
func newHangTimer(d time.Duration) *time.Timer {
	if d <= 0 {
		d = math.MaxInt64
	}
	return time.NewTimer(d)
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
	case errors.As(err, &failure):
		m.Status, m.Error = failure.Status, failure.Detail
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		m.Status, m.Error = data.Aborted, "stopped by the user"
	default:
		m.Status, m.Error = data.Aborted, err.Error()
		out.err = fmt.Errorf("trial %d: %w", t.ID, err)
	}
	out.measurement = m
	return out
}
