package profile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"knee/data"
	"knee/profile"
	"knee/profile/launch"
)

// script is a launcher that calls a function.
type script func(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error

func (s script) Launch(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error {
	return s(ctx, t, obs)
}

// steady reports steps of one second until the trial is ended.
var steady = (&fake{script: func(launch.Trial) (time.Duration, error) { return time.Second, nil }}).Launch

// A preempted trial is launched again, up to maxPreempted times, without using
// its retries.
func TestPreemptionIsNoFailure(t *testing.T) {
	preempted := &launch.Failure{Status: data.Failed, Detail: "preempted", Preempted: true}
	crashed := &launch.Failure{Status: data.Failed, Detail: "crashed"}
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
func TestQueueingIsNotRunning(t *testing.T) { synctest.Test(t, testQueueingIsNotRunning) }

func testQueueingIsNotRunning(t *testing.T) {
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

// The timeout applies to a trial of an engine once it runs.
func TestSubmittedTrialsHang(t *testing.T) { synctest.Test(t, testSubmittedTrialsHang) }

func testSubmittedTrialsHang(t *testing.T) {
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

// If the handle cannot be recorded the launcher gets an error, and the study
// ends with the reason.
func TestHandleThatCannotBeRecorded(t *testing.T) {
	r := newRunner(t, t.TempDir(), 1, nil)
	r.Launcher = script(func(_ context.Context, l launch.Trial, _ chan<- launch.Observation) error {
		r.Storage.Close() // recording fails
		return l.Submitted("job")
	})
	_, err := r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "write the journal") {
		t.Errorf("err = %v, want why the handle was not recorded", err)
	}
}

// A trial that waits for its turn has not hung, and one interrupt ends a
// profile whose trial only waits.
func TestDrainWithdrawsWhatWaits(t *testing.T) { synctest.Test(t, testDrainWithdrawsWhatWaits) }

func testDrainWithdrawsWhatWaits(t *testing.T) {
	drain := make(chan struct{})
	r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, _ chan<- launch.Observation) error {
		l.Waiting()
		time.AfterFunc(200*time.Millisecond, func() { close(drain) })
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	r.Study.Trial.Timeout, r.Drain = 50*time.Millisecond, drain
	res, err := r.Run(t.Context())
	if err != nil || !res.Drained || statuses(res.Measurements) != "aborted" {
		t.Errorf("%s, %v; want the waiting trial withdrawn", statuses(res.Measurements), err)
	}
}

// A configuration whose steps exceed the timeout gets a lower bound of its step
// time; it is not retried and does not end the study.
func TestSlowConfigurationsAreCensored(t *testing.T) {
	synctest.Test(t, testSlowConfigurationsAreCensored)
}

func testSlowConfigurationsAreCensored(t *testing.T) {
	tries := 0
	r := newRunner(t, t.TempDir(), 4, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
		tries++
		for i := range 2 {
			obs <- launch.Observation{Step: float64(i), StepTime: 1}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	r.Study.Trial.Timeout = 50 * time.Millisecond
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "timeout timeout timeout timeout" || tries != 4 {
		t.Fatalf("%s after %d launches, %v", statuses(res.Measurements), tries, err)
	}
	if m := res.Measurements[0]; m.StepTime != .05 || m.Throughput() != 0 && m.Status == data.OK {
		t.Errorf("%+v, want a step of at least 0.05 s", m)
	}
}

// Measurements are saved while the study runs, with the start-up time of each.
func TestFilesAreWrittenAfterEveryTrial(t *testing.T) {
	synctest.Test(t, testFilesAreWrittenAfterEveryTrial)
}

func testFilesAreWrittenAfterEveryTrial(t *testing.T) {
	dir := t.TempDir()
	files := profile.FilesBeside("study.yaml", dir)
	seen := []int{}
	f := &fake{script: linear}
	r := newRunner(t, dir, 3, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
		ms, _, _ := data.LoadMeasurements(files.Measurements)
		seen = append(seen, len(ms))
		time.Sleep(20 * time.Millisecond)
		obs <- launch.Observation{At: time.Now(), Step: -1, StepTime: 1}
		return f.Launch(ctx, l, obs)
	}))
	res, err := r.Run(t.Context())
	if err != nil || len(seen) != 3 || seen[1] != 1 || seen[2] != 2 {
		t.Errorf("before the trials there were %v rows, %v; want 0, 1, 2", seen, err)
	}
	if s := res.Measurements[0].StartSeconds; s < .02 || s > 10 {
		t.Errorf("start-up of %g s, want at least 0.02", s)
	}
}

// The step times of ranks that are distinguished are kept beside the log.
func TestRanksAreKept(t *testing.T) {
	r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
		for i := range 500 {
			for rank := range 2 {
				select {
				case obs <- launch.Observation{Rank: rank, Step: float64(i), StepTime: float64(1 + rank)}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		return nil
	}))
	res, err := r.Run(t.Context())
	if err != nil || res.Measurements[0].StepTime != 1 {
		t.Fatalf("%+v, %v; want the steps of rank 0", res.Measurements, err)
	}
	text, err := os.ReadFile(filepath.Join(r.LogDir, "trial-001-1.ranks.csv"))
	if string(text) != "worker,step_time_s\n0,1\n1,2\n" {
		t.Errorf("%v: %s", err, text)
	}
}

// A synchronisation time that cannot be is not recorded: the measurements could
// not be fitted.
func TestSynchronisationLongerThanTheStep(t *testing.T) {
	r := newRunner(t, t.TempDir(), 2, script(func(ctx context.Context, l launch.Trial, obs chan<- launch.Observation) error {
		for i := range 100 {
			select {
			case obs <- launch.Observation{Step: float64(i), StepTime: 1, SyncTime: float64(l.Config.Workers) - .5}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}))
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "ok ok" || res.Measurements[0].SyncTime != .5 || res.Measurements[1].SyncTime != 0 {
		t.Fatalf("%+v, %v; want the synchronisation of the first only", res.Measurements, err)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "sync_time_s, 1.5 s on average, is left out: a step takes 1 s") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// Step times that the time of the trial contradicts are warned of.
func TestToldTimesAreCompared(t *testing.T) { synctest.Test(t, testToldTimesAreCompared) }

func testToldTimesAreCompared(t *testing.T) {
	for _, c := range []struct {
		told float64 // seconds
		want string
	}{
		{.01, ""},
		{10, "its 20 step times add up to 200 s, but it took 0.21 s: they look like milliseconds: print step_time_ms, or divide by 1e3"},
		{.001, "trial 1 (1 × a100, allreduce): its steps take 0.5 s of the 4.99 s in which their lines came"},
	} {
		r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, _ launch.Trial, obs chan<- launch.Observation) error {
			for i := 0; ctx.Err() == nil; i++ {
				time.Sleep(10 * time.Millisecond)
				obs <- launch.Observation{At: time.Now(), Step: float64(i), StepTime: c.told}
				synctest.Wait()
			}
			return context.Cause(ctx)
		}))
		r.Study.Trial.MaxSeconds, r.Study.Trial.Retries = 40, 0
		res, err := r.Run(t.Context())
		if err != nil || statuses(res.Measurements) != "ok" {
			t.Fatalf("told %g s: %s, %v", c.told, statuses(res.Measurements), err)
		}
		text, row := strings.Join(res.Warnings, "\n"), res.Measurements[0].Error
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) || (row == "") != (c.want == "") || !strings.Contains(text, row) {
			t.Errorf("told %g s: %q, and %q in the measurement, want …%s…", c.told, text, row, c.want)
		}
	}
}

// A trial whose output cannot be read, as of an engine that does not answer, does not hang.
func TestOutageIsNoHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, trial launch.Trial, obs chan<- launch.Observation) error {
			obs <- launch.Observation{At: time.Now(), Step: 1, StepTime: 1}
			for range 240 {
				time.Sleep(time.Second)
				trial.Away()
			}
			return steady(ctx, trial, obs)
		}))
		r.Study.Trial.Timeout, r.Study.Trial.Retries = 2*time.Minute, 0
		if res, err := r.Run(t.Context()); err != nil || statuses(res.Measurements) != "ok" {
			t.Errorf("%s, %v", statuses(res.Measurements), err)
		}
	})
}

// What a launcher could not remove is said, however the trial ended.
func TestWhatIsLeftIsSaid(t *testing.T) {
	for _, why := range []error{nil, &launch.Failure{Status: data.Failed, Detail: "it failed"}} {
		r := newRunner(t, t.TempDir(), 1, script(func(ctx context.Context, trial launch.Trial, obs chan<- launch.Observation) error {
			err := why
			if err == nil {
				err = steady(ctx, trial, obs)
			}
			return errors.Join(err, errors.New("job 7 may still run (scancel 7)"))
		}))
		r.Study.Trial.Retries = 1
		res, err := r.Run(t.Context())
		launches := map[bool]int{true: 1, false: 2}[why == nil]
		if err != nil || len(res.Warnings) != launches || res.Warnings[0] != "trial 1: job 7 may still run (scancel 7)" {
			t.Errorf("%v: %s, %v, warnings %q", why, statuses(res.Measurements), err, res.Warnings)
		}
	}
}

// A step time whose interval includes zero is warned of.
func TestUnknownStepTime(t *testing.T) {
	r := newRunner(t, t.TempDir(), 1, script(func(_ context.Context, _ launch.Trial, obs chan<- launch.Observation) error {
		for i, seconds := range []float64{1, 1, 20, 1, 1} {
			obs <- launch.Observation{Step: float64(i), StepTime: seconds}
		}
		return nil
	}))
	res, err := r.Run(t.Context())
	if err != nil || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "its step time is less certain than it is long, 5.75 s ± ") {
		t.Errorf("%+v, %v, warnings %q", res.Measurements, err, res.Warnings)
	}
}
