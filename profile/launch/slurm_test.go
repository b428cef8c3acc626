//go:build unix

package launch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"knee/data"
	"knee/profile/launch"
)

func newSlurm(t *testing.T, spec data.SlurmSpec) *launch.Slurm {
	t.Helper()
	parser, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		t.Fatal(err)
	}
	return &launch.Slurm{Spec: spec, Parser: parser, Poll: 50 * time.Millisecond, OutageTimeout: time.Minute}
}

// launched is a trial that runs in the background.
type launched struct {
	trial launch.Trial
	steps []launch.Observation
	began chan time.Time
	err   chan error
}

// start launches a shell script through Slurm.
func start(t *testing.T, ctx context.Context, s *launch.Slurm, tr launch.Trial, script string) *launched {
	t.Helper()
	if tr.Log == "" {
		tr.Log = filepath.Join(t.TempDir(), "trial-001-1.log")
	}
	if tr.Config.Workers == 0 {
		tr.Config = data.Config{Job: "a", Workers: 1, GPUType: "cpu"}
	}
	tr.ID, tr.Attempt, tr.Command = max(tr.ID, 1), 1, []string{"sh", "-c", script}
	l := &launched{began: make(chan time.Time, 9), err: make(chan error, 1)}
	tr.Began = func(at time.Time) { l.began <- at }
	l.trial = tr
	obs := make(chan launch.Observation)
	var reader sync.WaitGroup
	reader.Go(func() {
		for o := range obs {
			l.steps = append(l.steps, o)
		}
	})
	go func() {
		err := s.Launch(ctx, tr, obs)
		close(obs)
		reader.Wait()
		l.err <- err
	}()
	return l
}

// wait returns how the trial ended.
func (l *launched) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-l.err:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the trial did not end within a minute")
		return nil
	}
}

func (l *launched) waitBegan(t *testing.T) {
	t.Helper()
	select {
	case <-l.began:
	case <-time.After(time.Minute):
		t.Fatal("the trial did not begin within a minute")
	}
}

func TestSlurmRunsATrial(t *testing.T) {
	f := newFakeSlurm(t)
	handle := ""
	tr := launch.Trial{Env: map[string]string{"GREETING": "it's $HOME"}, Submitted: func(h string) error { handle = h; return nil }}
	l := start(t, t.Context(), newSlurm(t, data.SlurmSpec{Srun: true}), tr,
		`echo "rank $RANK of $WORLD_SIZE, $KNEE_ROLE, $GREETING"; `+step+step)
	if err := l.wait(t); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(l.trial.Log)
	if want := "rank 0 of 1, worker, it's $HOME\n"; !strings.Contains(string(text), want) {
		t.Errorf("the log misses %q:\n%s", want, text)
	}
	if len(l.steps) != 2 || l.steps[0].StepTime != 0.5 || l.steps[0].At.IsZero() {
		t.Errorf("observations = %+v", l.steps)
	}
	if handle != "1" || len(l.began) != 1 {
		t.Errorf("submitted as %q, began %d times; want 1, once", handle, len(l.began))
	}
	if c := f.get("cancelled"); c != "" {
		t.Errorf("cancelled %s, though it had ended", c)
	}
}

func TestSlurmTellsFailuresApart(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		meanwhile    func(*fakeSlurm) // once the job runs
		status       data.Status
		preempted    bool
		detail       string
	}{
		{"exit status", step + "echo no such dataset; exit 3", nil, data.Failed, false, "exit status 3: no such dataset"},
		{"cuda", step + "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory'; exit 1", nil, data.OOM, false, "CUDA out of memory"},
		// bash repeats the command of a child that was killed, so that no step
		// may stand in it.
		{"killed", `p=knee; echo "$p: {\"step\":1,\"step_time_s\":1}"; kill -9 $$`, nil, data.OOM, false, "exit 137"},
		{"step daemon", step + "echo 'slurmstepd: error: Detected 1 oom_kill event in StepId=1.0'; exit 1", nil, data.OOM, false, "oom_kill event"},
		{"silence", "echo hello", nil, data.Failed, false, "for what it prints instead; its last words: hello"},
		{"garbage", `echo 'knee: {"step":1,"step_time_s":"fast"}'; sleep 120`, nil, data.Failed, false, "cannot be read"},
		{"one task of several", step + "echo no data; echo 'srun: error: n1: task 0: Exited with exit code 3'; echo 'srun: error: n2: tasks 1-3: Killed'; exit 137",
			nil, data.Failed, false, "job 1, n1: exit status 3: no data"},
		{"one task killed", step + "echo 'srun: error: n1: task 0: Killed'; echo 'srun: Force Terminated StepId=1.0'; exit 143", nil, data.OOM, false, "job 1, n1: killed (exit 137)"},
		{"memory limit", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "OUT_OF_MEMORY") }, data.OOM, false, "OUT_OF_MEMORY"},
		{"node failure", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "NODE_FAIL") }, data.Failed, true, "NODE_FAIL"},
		{"preemption", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "PREEMPTED") }, data.Failed, true, "PREEMPTED"},
		{"requeued", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "PENDING") }, data.Failed, true, "requeued"},
		{"time limit", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "TIMEOUT") }, data.Timeout, false, "time limit"},
		{"scancel by hand", step + "sleep 120", func(f *fakeSlurm) { f.kill("1", "CANCELLED") }, data.Failed, false, "not by knee"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFakeSlurm(t)
			l := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{}, tc.script)
			if tc.meanwhile != nil {
				l.waitBegan(t)
				tc.meanwhile(f)
			}
			var failure *launch.Failure
			if err := l.wait(t); !errors.As(err, &failure) {
				t.Fatalf("err = %v, want a Failure", err)
			}
			if failure.Status != tc.status || failure.Preempted != tc.preempted || !strings.Contains(failure.Detail, tc.detail) {
				t.Errorf("got %s (preempted %v): %s; want %s (%v): …%s…", failure.Status, failure.Preempted, failure.Detail, tc.status, tc.preempted, tc.detail)
			}
			if f.alive("1") {
				t.Error("the job still runs")
			}
		})
	}
}

func TestSlurmRefusesJobs(t *testing.T) {
	f := newFakeSlurm(t)
	f.set("refuse", "Requested node configuration is not available")
	var failure *launch.Failure
	err := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{}, step).wait(t)
	if !errors.As(err, &failure) || failure.Status != data.Infeasible {
		t.Errorf("err = %v, want the configuration to be infeasible", err)
	}
	f.set("refuse", "Invalid account or account/partition combination specified")
	err = start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{}, step).wait(t)
	if err == nil || errors.As(err, &failure) && failure == err || !strings.Contains(err.Error(), "Invalid account") {
		t.Errorf("err = %v, want an error that ends the study", err)
	}
	f.unset("refuse")
	f.set("hold", "")
	s := newSlurm(t, data.SlurmSpec{})
	l := start(t, t.Context(), s, launch.Trial{}, step)
	f.waitState("1", "PENDING")
	f.set("1.reason", "PartitionNodeLimit")
	if err := l.wait(t); !errors.As(err, &failure) || failure.Status != data.Infeasible || !strings.Contains(failure.Detail, "PartitionNodeLimit") {
		t.Errorf("err = %v, want the configuration to be infeasible", err)
	}
	if got := f.get("1.state"); got != "CANCELLED" {
		t.Errorf("a job that can never run was left %s", got)
	}
}

func TestSlurmCancelLeavesNothing(t *testing.T) {
	f := newFakeSlurm(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	l := start(t, ctx, newSlurm(t, data.SlurmSpec{}), launch.Trial{}, "trap '' TERM; "+step+"sleep 120")
	l.waitBegan(t)
	cancel(enough)
	if err := l.wait(t); err != enough {
		t.Errorf("err = %v, want the cause", err)
	}
	if f.alive("1") || f.get("cancelled") != "1" {
		t.Errorf("the job was left alone: cancelled %q", f.get("cancelled"))
	}
}

// A job that cannot be recorded is cancelled.
func TestSlurmWithdrawsWhatIsNotRecorded(t *testing.T) {
	f := newFakeSlurm(t)
	full := errors.New("no space left on device")
	l := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{Submitted: func(string) error { return full }}, step+"sleep 120")
	if err := l.wait(t); !errors.Is(err, full) {
		t.Errorf("err = %v, want %v", err, full)
	}
	if f.alive("1") {
		t.Error("the job still runs")
	}
}

func TestSlurmControllerRestarts(t *testing.T) {
	f := newFakeSlurm(t)
	f.set("lost", "") // the submission succeeds, but its answer is lost
	l := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{}, step+"sleep 1.5; "+step)
	l.waitBegan(t)
	f.set("down", "")
	time.Sleep(700 * time.Millisecond)
	f.unset("down")
	if err := l.wait(t); err != nil {
		t.Fatal(err)
	}
	if len(l.steps) != 2 || f.jobs() != 1 {
		t.Errorf("%d steps of %d jobs, want 2 of 1", len(l.steps), f.jobs())
	}
}

func TestSlurmControllerStaysAway(t *testing.T) {
	f := newFakeSlurm(t)
	s := newSlurm(t, data.SlurmSpec{})
	s.OutageTimeout = 300 * time.Millisecond
	l := start(t, t.Context(), s, launch.Trial{}, step+"sleep 120")
	l.waitBegan(t)
	f.set("down", "")
	err := l.wait(t)
	for _, want := range []string{"has not answered for 300ms", "scancel 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want …%s…", err, want)
		}
	}
}

func TestSlurmFollowsAnEarlierSubmission(t *testing.T) {
	f := newFakeSlurm(t)
	ctx, die := context.WithCancel(t.Context())
	log := filepath.Join(t.TempDir(), "trial.log")
	var once sync.Once
	first := start(t, ctx, newSlurm(t, data.SlurmSpec{}), launch.Trial{Log: log}, step+"sleep 1; "+step)
	first.waitBegan(t)

	// Another launcher, as after a restart of knee, takes the job over. The first
	// one dies: its scancel does not reach the job.
	second := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{Log: log, Handle: "1",
		Submitted: func(string) error { once.Do(func() { t.Error("submitted again") }); return nil }}, "exit 9")
	if err := second.wait(t); err != nil {
		t.Fatal(err)
	}
	if len(second.steps) != 2 || len(second.began) != 1 || f.jobs() != 1 {
		t.Errorf("%d steps, began %d times, %d jobs; want 2, 1, 1", len(second.steps), len(second.began), f.jobs())
	}
	die()
	first.wait(t)

	// The same after Slurm has dropped the job: its output has the exit status.
	f.set("forget", "")
	third := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{Log: log, Handle: "1"}, "exit 9")
	if err := third.wait(t); err != nil || len(third.steps) != 2 {
		t.Errorf("err = %v, %d steps; want 2 steps", err, len(third.steps))
	}
	fourth := start(t, t.Context(), newSlurm(t, data.SlurmSpec{}), launch.Trial{Handle: "77"}, "exit 9")
	if err := fourth.wait(t); err == nil || !strings.Contains(err.Error(), "no longer knows it") {
		t.Errorf("err = %v, want that nothing is known of the job", err)
	}
}

// One trial of the study waits in the queue at a time, so that parallel trials
// use only free nodes.
func TestSlurmTakesTurnsInTheQueue(t *testing.T) {
	f := newFakeSlurm(t)
	f.set("hold", "")
	s := newSlurm(t, data.SlurmSpec{})
	dir := t.TempDir()
	first := start(t, t.Context(), s, launch.Trial{ID: 1, Log: filepath.Join(dir, "1.log")}, step+"sleep 1")
	f.waitState("1", "PENDING")
	second := start(t, t.Context(), s, launch.Trial{ID: 2, Log: filepath.Join(dir, "2.log")}, step)
	time.Sleep(300 * time.Millisecond)
	if n := f.jobs(); n != 1 {
		t.Errorf("%d jobs in the queue, want 1 until it begins", n)
	}
	f.unset("hold")
	first.waitBegan(t)
	if err := errors.Join(second.wait(t), first.wait(t)); err != nil || f.jobs() != 2 {
		t.Errorf("err = %v, %d jobs; want 2", err, f.jobs())
	}
}

// A job that exceeds max_wait has status queued, not timeout.
func TestSlurmMaxWait(t *testing.T) {
	f := newFakeSlurm(t)
	f.set("hold", "")
	waits := 0
	l := start(t, t.Context(), newSlurm(t, data.SlurmSpec{MaxWait: 300 * time.Millisecond}), launch.Trial{Waiting: func() { waits++ }}, step)
	var failure *launch.Failure
	if err := l.wait(t); !errors.As(err, &failure) || failure.Status != data.Queued || !strings.Contains(failure.Detail, "max_wait") {
		t.Errorf("err = %v, want that it was queued for too long", err)
	}
	if f.alive("1") || waits != 1 {
		t.Errorf("the job is still there, or it was said %d times that it waits", waits)
	}
}
