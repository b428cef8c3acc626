package profile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/profile"
	"knee/profile/launch"
	"knee/profile/space"
)

// fake is a launcher that follows a script per number of workers.
type fake struct {
	mu       sync.Mutex
	launched []launch.Trial
	script   func(t launch.Trial) (step time.Duration, err error)
}

func (f *fake) Launch(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error {
	f.mu.Lock()
	f.launched = append(f.launched, t)
	f.mu.Unlock()
	step, err := f.script(t)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if step == 0 { // hangs
			<-ctx.Done()
			return context.Cause(ctx)
		}
		o := launch.Observation{Step: float64(i), StepTime: step.Seconds(), SyncTime: math.NaN(), Throughput: math.NaN(),
			Loss: 1 / float64(i+1), GradSqr: math.NaN(), GradVar: math.NaN()}
		select {
		case obs <- o:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func knob(name string, values ...string) data.Knob { return data.Knob{Name: name, Values: values} }

func ranged(name string, min, max float64, scale string) data.Knob {
	return data.Knob{Name: name, Range: &data.Range{Min: min, Max: max, Scale: scale}}
}

func studyOf(knobs ...data.Knob) *data.Study {
	return &data.Study{Job: "job", Space: knobs, Source: data.Source{File: "study.yaml"}}
}

// newRunner prepares a study of 1…n workers, measured in order.
func newRunner(t *testing.T, dir string, n int, l launch.Launcher) *profile.Runner {
	t.Helper()
	s := studyOf(ranged("workers", 1, float64(n), "linear"))
	s.Command = []string{"train"}
	s.Launcher.Local = &data.LocalSpec{}
	s.Trial = data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 600, RelPrecision: .02, Timeout: time.Minute, Retries: 1}
	s.PricePerHour = map[string]float64{"a100": 3600}
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := profile.Open(t.Context(), s, profile.FilesBeside("study.yaml", dir), profile.Settings{Only: candidates})
	if err != nil {
		t.Fatal(err)
	}
	r.Launcher = l
	t.Cleanup(func() { r.Storage.Close() })
	return r
}

// linear is a job whose step takes as many seconds as it has workers.
func linear(t launch.Trial) (time.Duration, error) {
	return time.Duration(t.Config.Workers) * time.Second, nil
}

func TestRunnerMeasures(t *testing.T) {
	dir := t.TempDir()
	r := newRunner(t, dir, 3, &fake{script: linear})
	res, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Measurements) != 3 || res.Stopped != "every candidate has been measured" {
		t.Fatalf("%d measurements, stopped because %q", len(res.Measurements), res.Stopped)
	}
	for i, m := range res.Measurements {
		if m.Status != data.OK || m.StepTime != float64(i+1) || m.Steps < 20 || m.PricePerHour != 3600*float64(i+1) {
			t.Errorf("measurement %d = %+v", i, m)
		}
	}
	files := profile.FilesBeside("study.yaml", dir)
	if err := files.Save(res); err != nil {
		t.Fatal(err)
	}
	back, _, err := data.LoadMeasurements(files.Measurements)
	if err != nil || len(back) != 3 {
		t.Errorf("read back %d measurements: %v", len(back), err)
	}
	if curve, _, err := data.LoadTable(files.Curves, data.ReadCurve); err != nil || len(curve) == 0 {
		t.Errorf("read back %d curve points: %v", len(curve), err)
	}
}

func TestRunnerTellsFailuresApart(t *testing.T) { synctest.Test(t, testRunnerTellsFailuresApart) }

func testRunnerTellsFailuresApart(t *testing.T) {
	tries := map[int]int{}
	f := &fake{}
	f.script = func(t launch.Trial) (time.Duration, error) {
		tries[t.Config.Workers]++
		switch t.Config.Workers {
		case 2:
			return 0, &launch.Failure{Status: data.OOM, Detail: "out of memory"}
		case 3:
			return 0, &launch.Failure{Status: data.Failed, Detail: "crashed"}
		case 4:
			return 0, nil // hangs
		case 5:
			if t.Attempt == 1 {
				return 0, &launch.Failure{Status: data.Failed, Detail: "lost its way"}
			}
		}
		return time.Second, nil
	}
	r := newRunner(t, t.TempDir(), 5, f)
	r.Study.Trial.Timeout = 50 * time.Millisecond
	res, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		status data.Status
		tries  int
		error  string
	}{{data.OK, 1, ""}, {data.OOM, 1, "out of memory"}, {data.Failed, 2, "crashed"}, {data.Timeout, 2, "no step for 50ms"}, {data.OK, 2, ""}}
	for i, w := range want {
		m := res.Measurements[i]
		if m.Status != w.status || tries[i+1] != w.tries || !strings.Contains(m.Error, w.error) {
			t.Errorf("%d workers: %s after %d tries: %s; want %s after %d: …%s…", i+1, m.Status, tries[i+1], m.Error, w.status, w.tries, w.error)
		}
	}
}

// stuck prints the same step again and again.
type stuck struct{}

func (stuck) Launch(ctx context.Context, _ launch.Trial, obs chan<- launch.Observation) error {
	for {
		select {
		case obs <- launch.Observation{Step: 5, StepTime: 1, SyncTime: math.NaN(), Throughput: math.NaN(), Loss: 1, GradSqr: math.NaN(), GradVar: math.NaN()}:
			time.Sleep(10 * time.Millisecond)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A step that is printed again and again is none.
func TestRunnerEndsAStuckTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, t.TempDir(), 1, stuck{})
		r.Study.Trial.Timeout, r.Study.Trial.Retries = 50*time.Millisecond, 0
		if res, _ := r.Run(t.Context()); len(res.Measurements) != 1 || res.Measurements[0].Status != data.Timeout {
			t.Errorf("%+v", res.Measurements)
		}
	})
}

// prints sends observations and hangs.
type prints []launch.Observation

func (p prints) Launch(ctx context.Context, _ launch.Trial, obs chan<- launch.Observation) error {
	for _, o := range p {
		obs <- o
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// A configuration that hangs after fast steps is no good one, whatever they took;
// lines with nothing but a loss are no steps, and bound no step time.
func TestRunnerOfTrialsThatHang(t *testing.T) {
	nan := math.NaN()
	line := func(step, seconds float64) launch.Observation {
		return launch.Observation{Step: step, StepTime: seconds, SyncTime: nan, Throughput: nan, Loss: 1, GradSqr: nan, GradVar: nan}
	}
	bar := func(length float64) launch.Observation {
		o := line(1, .01)
		o.Total = length
		return o
	}
	died := line(nan, nan)
	died.Loss, died.OutOfMemory = nan, "torch.OutOfMemoryError: CUDA out of memory"
	for _, tc := range []struct {
		prints prints
		status data.Status
		time   float64
		why    string
	}{
		{prints{line(1, 2), line(2, 1), line(3, 1), line(4, 1)}, data.Timeout, 0, "no step for 50ms (after 4 steps)"},
		{prints{line(1, .02), line(2, .01), line(3, .01)}, data.Timeout, 0, "no step for 50ms (after 3 steps)"},
		{prints{line(1, 2), line(2, 1)}, data.Timeout, .05, "no step for 50ms (after 2 steps); a step takes longer than trial.timeout"},
		{prints{line(nan, nan), line(nan, nan)}, data.Timeout, 0, "no step for 50ms (after 0 steps)"},
		{prints{line(1, .02), line(2, .01)}, data.Timeout, 0, "no step for 50ms (after 2 steps)"},
		{prints{line(1, nan)}, data.Timeout, 0, "no step for 50ms (after 1 step)"},
		{prints{bar(10), bar(5)}, data.Timeout, 0, "no step for 50ms (after 1 step)"},
		{prints{bar(10), bar(5), bar(7)}, data.Timeout, 0, "no step for 50ms (after 1 step); its progress bars are of 3 lengths, of which one is metered: print knee's lines, or leave total_steps out of metrics.regex"},
		{prints{died}, data.OOM, 0, died.OutOfMemory},
		{prints{line(1, 2), died, line(2, 1)}, data.OOM, 0, died.OutOfMemory},
		{prints{died, line(1, .02), line(2, .01), line(3, .01)}, data.Timeout, 0, "no step for 50ms (after 3 steps)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunner(t, t.TempDir(), 1, tc.prints)
			r.Study.Trial.Timeout, r.Study.Trial.Retries = 50*time.Millisecond, 0
			res, err := r.Run(t.Context())
			if m := res.Measurements[0]; err != nil || m.Status != tc.status || m.StepTime != tc.time || m.Error != tc.why {
				t.Errorf("%+v, %v; want %s, %g s, %s", m, err, tc.status, tc.time, tc.why)
			}
		})
	}
}

// A trial without a first step is reported long before its timeout.
func TestRunnerRemarksOnSilence(t *testing.T) { synctest.Test(t, testRunnerRemarksOnSilence) }

func testRunnerRemarksOnSilence(t *testing.T) {
	r := newRunner(t, t.TempDir(), 2, &fake{script: func(t launch.Trial) (time.Duration, error) {
		if t.Config.Workers == 1 {
			return 0, nil // hangs
		}
		return time.Second, nil
	}})
	r.Study.Trial.Timeout, r.Study.Trial.Retries = 100*time.Millisecond, 0
	var quiet []string
	r.Notify = func(e profile.Event) {
		if e.Kind == profile.TrialQuiet {
			quiet = append(quiet, fmt.Sprintf("%d %s", e.Trial.ID, e.Quiet))
		}
	}
	if _, err := r.Run(t.Context()); err != nil || strings.Join(quiet, ", ") != "1 50ms" {
		t.Errorf("remarked on %q, %v; want the trial that hangs, once", quiet, err)
	}
}

func TestRunnerGivesUpOnABrokenStudy(t *testing.T) {
	r := newRunner(t, t.TempDir(), 9, &fake{script: func(launch.Trial) (time.Duration, error) {
		return 0, &launch.Failure{Status: data.Failed, Detail: "no such file: train"}
	}})
	res, err := r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no such file: train") || len(res.Measurements) != 3 {
		t.Errorf("after %d trials: %v; want it to give up after 3 and say why", len(res.Measurements), err)
	}
}

func TestRunnerBudgets(t *testing.T) {
	r := newRunner(t, t.TempDir(), 9, &fake{script: linear})
	r.Study.Budget.Trials = 4
	res, err := r.Run(t.Context())
	if err != nil || len(res.Measurements) != 4 || !strings.Contains(res.Stopped, "4 trials") {
		t.Errorf("%d trials, %q, %v", len(res.Measurements), res.Stopped, err)
	}
	r = newRunner(t, t.TempDir(), 9, &fake{script: linear})
	r.Study.Budget.Cost = 1e-9
	res, err = r.Run(t.Context())
	if err != nil || len(res.Measurements) != 1 || !strings.Contains(res.Stopped, "budget of $0.00") || res.Spent <= 0 {
		t.Errorf("%d trials, %q, spent %g, %v", len(res.Measurements), res.Stopped, res.Spent, err)
	}
}

// answering is a strategy that knows a sentence on its choice.
type answering struct{ bayesopt.Strategy }

func (a answering) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	s, err := a.Strategy.Next(h)
	s.Answer = fmt.Sprintf("the choice after %d", len(h.Measured))
	return s, err
}

// The end of the budget tells the answer, after all trials.
func TestRunnerTellsTheAnswer(t *testing.T) {
	r := newRunner(t, t.TempDir(), 9, &fake{script: linear})
	r.Study.Budget.Trials, r.Study.Parallel = 4, 3
	r.Strategy = answering{r.Strategy}
	if res, err := r.Run(t.Context()); err != nil || res.Stopped != "the budget of 4 trials is spent; the choice after 4" {
		t.Errorf("%q, %v", res.Stopped, err)
	}
}

func TestRunnerDrains(t *testing.T) {
	drain := make(chan struct{})
	f := &fake{}
	f.script = func(t launch.Trial) (time.Duration, error) {
		if t.Config.Workers == 2 {
			close(drain) // the user interrupts while this trial runs
		}
		return time.Second, nil
	}
	r := newRunner(t, t.TempDir(), 5, f)
	r.Drain = drain
	res, err := r.Run(t.Context())
	if err != nil || !res.Drained || len(res.Measurements) != 2 || res.Measurements[1].Status != data.OK {
		t.Errorf("result %+v, %v; want the running trial finished and no other started", res, err)
	}
}

// A draining run does not retry; the next run does.
func TestRunnerDrainsWithoutTryingAgain(t *testing.T) {
	drain := make(chan struct{})
	f := &fake{script: func(launch.Trial) (time.Duration, error) {
		close(drain) // a second launch would panic
		return 0, &launch.Failure{Status: data.Failed, Detail: "lost its way"}
	}}
	dir := t.TempDir()
	r := newRunner(t, dir, 1, f)
	r.Drain = drain
	res, err := r.Run(t.Context())
	if err != nil || !res.Drained || statuses(res.Measurements) != "aborted" || !strings.Contains(res.Measurements[0].Error, "lost its way") {
		t.Fatalf("result %+v, %v; want the trial aborted", res, err)
	}
	r.Storage.Close()
	f.script = linear
	if res, err = newRunner(t, dir, 1, f).Run(t.Context()); err != nil || statuses(res.Measurements) != "aborted ok" {
		t.Errorf("%s, %v; want it measured", statuses(res.Measurements), err)
	}
}

func TestRunnerAborts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{script: func(t launch.Trial) (time.Duration, error) {
		if t.Config.Workers == 2 {
			cancel()
			return 0, nil
		}
		return time.Second, nil
	}}
	dir := t.TempDir()
	r := newRunner(t, dir, 3, f)
	res, err := r.Run(ctx)
	if !errors.Is(err, context.Canceled) || len(res.Measurements) != 2 || res.Measurements[1].Status != data.Aborted {
		t.Fatalf("result %+v, %v", res, err)
	}
	r.Storage.Close()
	// Aborted trials are measured when the study continues.
	f.script = linear
	r = newRunner(t, dir, 3, f)
	if res, err = r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := statuses(res.Measurements); got != "ok aborted ok ok" {
		t.Errorf("statuses = %s", got)
	}
}

func statuses(ms []data.Measurement) string {
	var s []string
	for _, m := range ms {
		s = append(s, string(m.Status))
	}
	return strings.Join(s, " ")
}

func TestRunnerInParallel(t *testing.T) {
	var mu sync.Mutex
	most, now := 0, 0
	both := make(chan struct{})
	f := &fake{script: func(t launch.Trial) (time.Duration, error) {
		mu.Lock()
		now++
		if most = max(most, now); now == 2 {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		mu.Unlock()
		<-both // the first two meet here, or the test hangs
		mu.Lock()
		now--
		mu.Unlock()
		return time.Second, nil
	}}
	r := newRunner(t, t.TempDir(), 6, f)
	r.Study.Parallel = 2
	res, err := r.Run(t.Context())
	if err != nil || len(res.Measurements) != 6 || most != 2 {
		t.Errorf("%d measurements, at most %d at once, %v; want 6 and 2", len(res.Measurements), most, err)
	}
}

func TestJournalGoesOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "study.journal.jsonl")
	f := &fake{script: linear}
	r := newRunner(t, dir, 4, f)
	r.Study.Budget.Trials = 2
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A dead process leaves a started trial and half a line.
	if _, err := r.Storage.Begin(r.Candidates[2]); err != nil {
		t.Fatal(err)
	}
	r.Storage.Close()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, `{"event":"end","trial":3,"meas`)
	file.Close()
	r = newRunner(t, dir, 4, f)
	if len(r.Snapshot.Results) != 2 || len(r.Snapshot.Interrupted) != 1 || len(r.Snapshot.Warnings) != 1 {
		t.Fatalf("snapshot = %+v", r.Snapshot)
	}
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "ok ok ok ok" {
		t.Errorf("%s, %v", statuses(res.Measurements), err)
	}
	if ids := []int{f.launched[2].ID, f.launched[3].ID}; len(f.launched) != 4 || ids[0] != 4 || ids[1] != 5 {
		t.Errorf("launched %d trials, the later ones numbered %v; want 4, with numbers that were not used", len(f.launched), ids)
	}
	if len(res.Curves) == 0 || res.Measurements[0].StepTime != 1 {
		t.Error("what was measured before has been lost")
	}
}

// A restart fails while another profiler has the journal locked.
func TestRestartLeavesARunningProfileAlone(t *testing.T) {
	dir := t.TempDir()
	r := newRunner(t, dir, 1, &fake{script: linear})
	files := profile.FilesBeside("study.yaml", dir)
	_, err := profile.Open(t.Context(), r.Study, files, profile.Settings{Restart: true})
	if err == nil || !strings.Contains(err.Error(), "another knee profile is writing it") {
		t.Errorf("err = %v, want the second profile to be refused", err)
	}
	if _, err := os.Stat(files.Journal + ".old"); err == nil {
		t.Error("the journal that is being written was set aside")
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Storage.Close()
	again, err := profile.Open(t.Context(), r.Study, files, profile.Settings{Restart: true})
	if err != nil {
		t.Fatal(err)
	}
	again.Storage.Close()
	first, err := os.ReadFile(files.Journal + ".old")
	if err != nil || len(again.Snapshot.Results) != 0 {
		t.Errorf("%v, %d measurements; want the old journal aside and a new one", err, len(again.Snapshot.Results))
	}
	if again, err = profile.Open(t.Context(), r.Study, files, profile.Settings{Restart: true}); err != nil {
		t.Fatal(err)
	}
	again.Storage.Close()
	if kept, err := os.ReadFile(files.Journal + ".old"); err != nil || !bytes.Equal(kept, first) {
		t.Errorf("%v; want the measurements of the first beginning to outlive a second --restart", err)
	}
}
