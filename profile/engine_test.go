package profile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/profile"
	"knee/profile/launch"
)

// script is a launcher that does what a function says.
type script func(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error

func (s script) Launch(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error {
	return s(ctx, t, obs)
}

// steady reports steps of one second until the trial is ended.
var steady = (&fake{script: func(launch.Trial) (time.Duration, error) { return time.Second, nil }}).Launch

// A preempted trial is launched again however often, within reason, and
// keeps its retries for failures of its own.
func TestPreemptionIsNoFailure(t *testing.T) {
	preempted := &launch.Failure{Status: data.Failed, Exit: -1, Detail: "preempted", Preempted: true}
	crashed := &launch.Failure{Status: data.Failed, Exit: 1, Detail: "crashed"}
	for _, tc := range []struct {
		name   string
		end    func(attempt int) error
		status data.Status
		tries  int
	}{
		{"preempted five times", func(n int) error {
			if n <= 5 {
				return preempted
			}
			return nil
		}, data.OK, 6},
		{"preempted and crashed in turn", func(n int) error {
			if n%2 == 1 {
				return preempted
			}
			return crashed
		}, data.Failed, 4}, // one retry: the second crash is the last
		{"preempted for ever", func(int) error { return preempted }, data.Failed, 21},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tries := 0
			r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
				tries++
				if l.Attempt != tries || l.Handle != "" {
					t.Errorf("launch %d is attempt %d with handle %q", tries, l.Attempt, l.Handle)
				}
				if err := l.Submitted("job"); err != nil {
					return err
				}
				if err := tc.end(tries); err != nil {
					return err
				}
				return steady(ctx, l, obs)
			}))
			res, err := r.Run(t.Context())
			if err != nil || len(res.Measurements) != 1 || res.Measurements[0].Status != tc.status || tries != tc.tries {
				t.Errorf("%+v after %d launches, %v; want %s after %d", res.Measurements, tries, err, tc.status, tc.tries)
			}
		})
	}
}

// The time in a queue is neither a hang, nor paid for, nor wall time.
func TestQueueingIsNotRunning(t *testing.T) {
	const queue, timeout = 400 * time.Millisecond, 100 * time.Millisecond
	r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
		if err := l.Submitted("job-1"); err != nil {
			return err
		}
		select {
		case <-time.After(queue):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.Began(time.Now().Add(time.Hour)) // the engine's clock is an hour fast
		return steady(ctx, l, obs)
	}))
	r.Study.Trial.Timeout = timeout
	var kinds []profile.EventKind
	var waited time.Duration
	r.Notify = func(e profile.Event) {
		switch e.Kind {
		case profile.TrialQueued:
			if e.Trial.Handle != "job-1" {
				t.Errorf("submitted as %q", e.Trial.Handle)
			}
			kinds = append(kinds, e.Kind)
		case profile.TrialBegan, profile.TrialRetried:
			kinds = append(kinds, e.Kind)
		case profile.TrialEnded:
			waited = e.Queued
		}
	}
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "ok" {
		t.Fatalf("%+v, %v", res.Measurements, err)
	}
	if len(kinds) != 2 || kinds[0] != profile.TrialQueued || kinds[1] != profile.TrialBegan {
		t.Errorf("events %v, want one that it was submitted and one that it began", kinds)
	}
	m := res.Measurements[0]
	if waited < queue || m.Wall < 0 || m.StartedAt.After(time.Now()) {
		t.Errorf("waited %s, wall %g s, started at %s", waited, m.Wall, m.StartedAt)
	}
	if total := waited.Seconds() + m.Wall; m.Wall >= total || m.Cost() != m.PricePerHour*m.Wall/3600 {
		t.Errorf("wall %g s of %g s in all", m.Wall, total)
	}
}

// Once it runs, a trial of an engine hangs like any other.
func TestSubmittedTrialsHang(t *testing.T) {
	r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, _ chan<- launch.Observation) error {
		if err := l.Submitted("job"); err != nil {
			return err
		}
		l.Began(time.Now())
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	r.Study.Trial.Timeout, r.Study.Trial.Retries = 50*time.Millisecond, 0
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "timeout" {
		t.Errorf("%+v, %v; want a timeout", res.Measurements, err)
	}
}

// An abort reaches a trial that still waits in a queue.
func TestAbortWithdrawsFromTheQueue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := false
	r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, _ chan<- launch.Observation) error {
		if err := l.Submitted("job"); err != nil {
			return err
		}
		cancel()
		<-ctx.Done()
		withdrawn = true
		return context.Cause(ctx)
	}))
	res, err := r.Run(ctx)
	if !errors.Is(err, context.Canceled) || !withdrawn || statuses(res.Measurements) != "aborted" || res.Measurements[0].Wall != 0 {
		t.Errorf("%+v, %v; want one aborted trial that never ran", res.Measurements, err)
	}
}

// If the handle cannot be recorded the launcher is told, and the study ends
// with the reason.
func TestHandleThatCannotBeRecorded(t *testing.T) {
	r := newRunner(t, t.TempDir(), 1, nil)
	r.Launcher = script(func(_ context.Context, l launch.Trial, _ chan<- launch.Observation) error {
		r.Storage.Close() // the disk is gone
		return l.Submitted("job")
	})
	_, err := r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "write the journal") {
		t.Errorf("err = %v, want why the handle was not recorded", err)
	}
}
