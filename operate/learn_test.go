package operate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/fit"
	"knee/operate"
	"knee/operate/learn"
	"knee/operate/queuetest"
)

// A job that is slower than its model gets its own model; for a job that becomes
// slow on its nodes there is one proposal; neither job is changed.
func TestTurnLearns(t *testing.T) {
	t.Chdir(t.TempDir())
	b := newSetup(t, ".")
	b.want.Node = "n1" // nothing to change
	var rows []data.Measurement
	for n := 1; n <= 4; n *= 2 {
		rows = append(rows, data.Measurement{Status: data.OK, StepTime: .4 / float64(n), Config: data.Config{Job: "toy", GPUType: "a100", Workers: n, Placement: data.Placement{n}, Nodes: 1, LocalBatch: 64 / float64(n)}})
	}
	m, err := fit.Fit(rows, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	b.Config.Rules[0].Batch.Initial = 64
	if err := fit.WriteModel(filepath.Join(filepath.Dir(b.Config.Source.File), "toy.json"), m); err != nil {
		t.Fatal(err)
	}
	turn := func(log string) (*operate.Outcome, *data.JobsFile) {
		b.now = b.now.Add(5 * time.Minute)
		b.fake.Logs["1"] += log
		out, _ := b.turn(t)
		jobs, err := data.Load(filepath.Join(out.Folder, "jobs.yaml"), data.ReadJobs)
		if err != nil {
			t.Fatal(err)
		}
		if model := jobs.Jobs[0].Model; model != "" && !filepath.IsAbs(model) {
			t.Errorf("turn %d: model %s, where jobs.yaml does not lie", out.Turn, model)
		}
		if len(b.fake.Calls) > 0 {
			t.Errorf("turn %d asked for %q", out.Turn, b.fake.Calls)
		}
		return out, jobs
	}
	out, jobs := turn(queuetest.Steps(1, 20, .2))
	if len(out.Updates)+len(out.Proposals) > 0 || filepath.Base(jobs.Jobs[0].Model) != "toy.json" {
		t.Errorf("as predicted: %+v, %+v, %s", out.Updates, out.Proposals, jobs.Jobs[0].Model)
	}
	out, jobs = turn(queuetest.Steps(21, 20, .3))
	if len(out.Updates) != 1 || out.Updates[0].Kind != learn.Refit || filepath.Base(jobs.Jobs[0].Model) != "1.json" {
		t.Errorf("drifted: %+v, %s", out.Updates, jobs.Jobs[0].Model)
	}
	for range 2 {
		if out, _ = turn(queuetest.Steps(41, 20, 2)); len(out.Proposals) != 1 || out.Proposals[0].Kind != learn.Slowed || len(out.Updates) > 0 {
			t.Errorf("slowed: %+v, %+v", out.Proposals, out.Updates)
		}
	}
	if out, _ = turn(""); len(out.Proposals) != 1 || out.Proposals[0].Kind != "silent" {
		t.Errorf("silent: %+v", out.Proposals)
	}
	if out, _ = turn(queuetest.Steps(81, 20, .3)); len(out.Proposals) > 0 {
		t.Errorf("well again: %+v", out.Proposals)
	}
	audit, err := os.ReadFile(filepath.Join(operate.Folder(b.Config), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{`"kind":"slowed"`: 1, `"kind":"silent"`: 1, `"kind":"refit"`: 1, `"command"`: 0} {
		if got := strings.Count(string(audit), what); got != want {
			t.Errorf("the audit log has %s %d times, want %d:\n%s", what, got, want, audit)
		}
	}
	b.fake.Jobs = b.fake.Jobs[1:]
	turn("")
	if _, err := os.Stat(jobs.Jobs[0].Model); !os.IsNotExist(err) {
		t.Errorf("the model of a job that has left: %v", err)
	}
}
