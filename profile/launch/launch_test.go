//go:build unix

package launch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// TestMain lets the test binary run as the watchdog, or as a knee that is
// killed during a trial.
func TestMain(m *testing.M) {
	switch os.Getenv("KNEE_TEST_PART") {
	case "guard":
		if err := launch.Guard(os.Stdin); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "doomed":
		doomed()
	case "doomed on kubernetes":
		doomedOnKubernetes()
	}
	os.Exit(m.Run())
}

// grace is how long the processes of a trial may take to end.
const grace = 300 * time.Millisecond

// run launches a shell script as every rank of a trial.
func run(t *testing.T, ctx context.Context, c data.Config, grace time.Duration, script string) ([]launch.Observation, string, error) {
	t.Helper()
	parser, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &launch.Local{Ranks: true, Parser: parser, Grace: grace}
	log := filepath.Join(t.TempDir(), "trial.log")
	obs := make(chan launch.Observation)
	got := make(chan []launch.Observation)
	go func() {
		var all []launch.Observation
		for o := range obs {
			all = append(all, o)
		}
		got <- all
	}()
	err = l.Launch(ctx, launch.Trial{ID: 1, Attempt: 1, Config: c, Command: []string{"sh", "-c", script}, Log: log}, obs)
	close(obs)
	text, _ := os.ReadFile(log)
	return <-got, string(text), err
}

const step = `echo 'knee: {"step":1,"step_time_s":0.5,"loss":2.5}'; `

// Steps without a time that arrive together are timed as one: the last.
func TestStepsThatArriveTogether(t *testing.T) {
	got, _, err := run(t, t.Context(), data.Config{Workers: 1}, grace,
		`printf 'knee: {"step":1}\nknee: {"step":2}\r\nknee: {"step":3}\rknee: {"step":4}\n'`)
	if err != nil || len(got) != 1 || got[0].Step != 4 {
		t.Errorf("%+v, %v; want step 4 only", got, err)
	}
	got, _, err = run(t, t.Context(), data.Config{Workers: 1}, grace, `printf 'knee: {"step":1}\nknee: {"loss":2}\npeak memory: 2 GiB\n'`)
	if err != nil || len(got) != 3 || got[0].Step != 1 {
		t.Errorf("%+v, %v; want a step, its loss and memory", got, err)
	}
}

// The first time of each rank may be NaN, a later one ends the trial.
func TestLocalFirstStepWithoutATime(t *testing.T) {
	const first, fine, later = `echo 'knee: {"step":1,"step_time_s":NaN}'; `, `echo 'knee: {"step":2,"step_time_s":0.5}'; `, `echo 'knee: {"step":3,"step_time_s":NaN}'; `
	two := data.Config{Workers: 2, GPUType: "cpu"}
	if obs, _, err := run(t, t.Context(), two, grace, first+fine); err != nil || obs[len(obs)-1].StepTime != .5 {
		t.Errorf("%+v, %v; want a last step of 0.5 s", obs, err)
	}
	if _, _, err := run(t, t.Context(), two, grace, first+fine+later); err == nil || !strings.Contains(err.Error(), "step_time_s: found NaN") {
		t.Errorf("err = %v", err)
	}
}

func TestLocalTellsRanksWhoTheyAre(t *testing.T) {
	c := data.Config{Workers: 2, PS: 1, Mode: data.PSSync, LocalBatch: 16, GPUType: "cpu", Extra: map[string]string{"depth": "3"}}
	obs, log, err := run(t, t.Context(), c, grace,
		step+`echo "$KNEE_ROLE rank=$RANK of $WORLD_SIZE ps=$KNEE_PS_RANK/$KNEE_PS batch=$KNEE_LOCAL_BATCH/$KNEE_GLOBAL_BATCH depth=$KNEE_X_DEPTH mode=$KNEE_MODE hosts=${KNEE_PS_HOSTS%:*} port=${MASTER_PORT:+yes}"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[worker 0] worker rank=0 of 3 ps=/1 batch=16/32 depth=3 mode=ps-sync hosts=127.0.0.1 port=yes",
		"[worker 1] worker rank=1 of 3 ps=/1",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log misses %q:\n%s", want, log)
		}
	}
	if len(obs) < 2 || obs[0].StepTime != 0.5 || obs[0].Loss != 2.5 || !math.IsNaN(obs[0].SyncTime) {
		t.Errorf("observations = %+v", obs)
	}
}

// The memory of a process that does not report it is known.
func TestLocalSeesMemory(t *testing.T) {
	const size = 100_000_000
	var peak float64
	obs := make(chan launch.Observation, 16)
	l := &launch.Local{Parser: parser(t)}
	err := l.Launch(t.Context(), launch.Trial{ID: 1, Attempt: 1, Config: data.Config{Workers: 1, GPUType: "cpu"},
		Command: []string{"sh", "-c", step + fmt.Sprintf(`awk 'BEGIN { s = "x"; while (length(s) < %d) s = s s }'`, size)},
		Used:    func(p, _ float64) { peak = p }}, obs)
	if err != nil {
		t.Fatal(err)
	}
	if peak < size || peak > 20*size {
		t.Errorf("a process that held %d bytes was seen to hold %.0f", size, peak)
	}
}

// A line with memory only is not a step: a trial that prints nothing else
// fails, and the error quotes its last line.
func TestLocalTellsMemoryFromSteps(t *testing.T) {
	obs, _, err := run(t, t.Context(), data.Config{Workers: 1, GPUType: "cpu"}, grace, "echo max_memory_allocated: 5 GiB")
	if err == nil || !strings.Contains(err.Error(), "without reporting a step") || !strings.Contains(err.Error(), "last words: max_memory_allocated") {
		t.Errorf("err = %v", err)
	}
	if len(obs) != 1 || obs[0].OfStep() || obs[0].PeakMemory != 5<<30 {
		t.Errorf("observations %+v", obs)
	}
}

func TestLocalTellsFailuresApart(t *testing.T) {
	one := data.Config{Workers: 1, GPUType: "cpu"}
	two := data.Config{Workers: 2, GPUType: "cpu"}
	ready := filepath.Join(t.TempDir(), "ready")
	for _, tc := range []struct {
		name, script string
		config       data.Config
		status       data.Status
		detail       string
	}{
		{"exit status", step + "echo no such dataset >&2; exit 3", one, data.Failed, "worker 0: exit status 3: no such dataset"},
		{"exit 137", step + "exit 137", one, data.OOM, "exit 137"},
		{"killed", step + "kill -9 $$", one, data.OOM, "exit 137"},
		{"cuda", step + "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB'; exit 1", one, data.OOM, "Tried to allocate"},
		{"host", "echo 'MemoryError'; exit 1", one, data.OOM, "worker 0: MemoryError"},
		{"one rank's memory, another's complaint", `if [ $RANK = 1 ]; then trap '' TERM; touch ` + ready + `; sleep 0.1; echo 'CUDA out of memory'; exit 1; fi; until [ -e ` + ready + ` ]; do sleep 0.01; done; echo lost rank 1; exit 2`, two, data.OOM, "worker 1: CUDA out of memory"},
		{"survived", step + "echo 'CUDA out of memory'; " + step + `for i in 2 3; do echo "knee: {\"step\":$i,\"step_time_s\":0.5}"; done; echo 'KeyError: 3'; exit 1`, one, data.Failed, "KeyError: 3"},
		{"silence", "echo hello", one, data.Failed, "without reporting a step"},
		{"a log that a pattern reads", `printf '\r 1%%| | 1/100 [00:00<00:08, 9.80it/s]\r 2%%| | 2/100 [00:00<00:08, 9.80it/s]\n'; echo bye`, one, data.Failed, "{pattern: tqdm} in the study would read what it prints; its last words: bye"},
		{"garbage", `echo 'knee: {"step":1,"step_time_s":"fast"}'; sleep 120`, one, data.Failed, "cannot be read"},
		{"torn line", `echo 'knee: {"step":1,'; sleep 120`, one, data.Failed, "cannot be read"},
		{"negative time", `echo 'knee: {"step":1,"step_time_s":-1}'; sleep 120`, one, data.Failed, "step_time_s: found -1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, _, err := run(t, t.Context(), tc.config, time.Minute, tc.script)
			var f *launch.Failure
			if !errors.As(err, &f) {
				t.Fatalf("err = %v, want a Failure", err)
			}
			if f.Status != tc.status || !strings.Contains(f.Detail, tc.detail) {
				t.Errorf("got %s: %s; want %s: …%s…", f.Status, f.Detail, tc.status, tc.detail)
			}
			if d := time.Since(start); d > 100*time.Second {
				t.Errorf("took %v: it waited for a trial that had failed", d)
			}
		})
	}
}

// A progress bar is read as it is drawn, long before its line ends.
func TestLocalReadsProgressBars(t *testing.T) {
	parser, err := launch.NewParser(data.Metrics{Pattern: "tqdm"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	obs := make(chan launch.Observation, 10)
	go func() {
		for want := range 2 {
			if o := <-obs; o.Step != float64(want+1) || o.StepTime != .5 {
				cancel(fmt.Errorf("observed %+v, want step %d of 0.5 s", o, want+1))
			}
		}
		cancel(enough)
	}()
	l := &launch.Local{Ranks: true, Parser: parser, Grace: 100 * time.Millisecond}
	err = l.Launch(ctx, launch.Trial{ID: 1, Attempt: 1, Config: data.Config{Workers: 1},
		Command: []string{"sh", "-c", `for i in 1 2 3; do printf "\r %d%%| | $i/100 [00:01<00:50, 2.00it/s]" $i; sleep 0.05; done; sleep 20`}}, obs)
	if !errors.Is(err, enough) {
		t.Errorf("err = %v, want two steps while the bar is drawn", err)
	}
}

// The error of a cancelled trial without steps quotes what it printed.
func TestLocalCancelTellsWhatWasPrinted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	hung := errors.New("no step")
	said := filepath.Join(t.TempDir(), "said")
	go func() {
		waitFor(t, func() bool { _, err := os.Stat(said); return err == nil })
		cancel(hung)
	}()
	_, _, err := run(t, ctx, data.Config{Workers: 1}, grace, `echo " 1%| | 1/100 [00:00<00:08, 9.80it/s]"; touch `+said+`; sleep 20`)
	if !errors.Is(err, hung) || !strings.Contains(err.Error(), "pattern: tqdm") || !strings.Contains(err.Error(), "its last words: 1%") {
		t.Errorf("err = %v, want the cause, the pattern and the line", err)
	}
}

func TestLocalCommandThatIsNotThere(t *testing.T) {
	l := &launch.Local{Ranks: true}
	err := l.Launch(t.Context(), launch.Trial{Config: data.Config{Workers: 2}, Command: []string{"no-such-program"}}, nil)
	var f *launch.Failure
	if !errors.As(err, &f) || f.Status != data.Failed || !strings.Contains(f.Detail, "no-such-program") {
		t.Errorf("err = %v, want a failure that names the program", err)
	}
}

func TestLocalCancelLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	pids := filepath.Join(t.TempDir(), "pids")
	go func() {
		waitFor(t, func() bool { return len(readPids(pids)) == 4 })
		cancel(enough)
	}()
	// The shell ignores SIGTERM and has a child.
	_, _, err := run(t, ctx, data.Config{Workers: 2}, grace,
		fmt.Sprintf(`trap '' TERM; sleep 60 & echo $! >>%[1]s; echo $$ >>%[1]s; %[2]s wait; sleep 60`, pids, step))
	if !errors.Is(err, enough) {
		t.Errorf("err = %v, want the cause of the cancellation", err)
	}
	for _, pid := range readPids(pids) {
		waitFor(t, func() bool { return !alive(pid) })
	}
}

func TestLocalServersEndWithTheirWorkers(t *testing.T) {
	c := data.Config{Workers: 1, PS: 1, Mode: data.PSSync}
	_, _, err := run(t, t.Context(), c, grace, `if [ $KNEE_ROLE = ps ]; then exec sleep 60; fi; `+step)
	if err != nil {
		t.Errorf("err = %v, want nil: a server that outlives its workers is no failure", err)
	}
}

// doomed runs a trial for ever, as a knee that is about to be killed.
func doomed() {
	exe, _ := os.Executable()
	os.Setenv("KNEE_TEST_PART", "guard")
	dog, err := launch.StartWatchdog(exe)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Unsetenv("KNEE_TEST_PART")
	parser, _ := launch.NewParser(data.Metrics{})
	l := &launch.Local{Ranks: true, Parser: parser, Watchdog: dog}
	obs := make(chan launch.Observation, 1000)
	l.Launch(context.Background(), launch.Trial{Config: data.Config{Workers: 2},
		Command: []string{"sh", "-c", `$APART sleep 100 & echo $! >>$PIDS; echo $$ >>$PIDS; wait`}}, obs)
}

func TestWatchdogEndsTheTrialsOfAKilledKnee(t *testing.T) { killKnee(t, "") }

// killKnee kills a knee that runs a trial, and checks that no process is left.
// The trial starts another process by the command apart.
func killKnee(t *testing.T, apart string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pids := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "KNEE_TEST_PART=doomed", "PIDS="+pids, "APART="+apart)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return len(readPids(pids)) == 4 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for _, pid := range readPids(pids) {
		waitFor(t, func() bool { return !alive(pid) })
	}
}

func readPids(file string) []int {
	text, _ := os.ReadFile(file)
	var pids []int
	for f := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process runs; a zombie does not count.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// waitFor waits for a condition, with a bound that only a failure meets.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the condition did not come true in a minute")
}
