package learn_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/fit"
	"knee/operate/check"
	"knee/operate/learn"
	"knee/operate/queue"
)

// model fits and writes the model of a job whose steps take a time that falls
// with its workers.
func model(t testing.TB, job string, scale float64) string {
	t.Helper()
	var rows []data.Measurement
	for _, at := range []struct {
		place data.Placement
		sync  float64
	}{{data.Placement{1}, 0}, {data.Placement{2}, .01}, {data.Placement{4}, .02}, {data.Placement{2, 2}, .04}, {data.Placement{4, 4}, .05}} {
		for _, batch := range []float64{32, 64, 128} {
			rows = append(rows, data.Measurement{Status: data.OK, StepTime: scale * (.4*batch/128 + at.sync),
				Config: data.Config{Job: job, GPUType: "a100", Placement: at.place, Nodes: len(at.place), Workers: at.place.Workers(), LocalBatch: batch}})
		}
	}
	m, err := fit.Fit(rows, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), job+".json")
	if err := fit.WriteModel(path, m); err != nil {
		t.Fatal(err)
	}
	return path
}

// running is a job on two GPUs of n1 that was measured there.
func running(rule *data.JobRule, seconds float64) *queue.Row {
	r := &queue.Row{Job: queue.Job{ID: "7", Name: "resnet", State: queue.Running, Resizable: true, GPUType: "a100", Nodes: []data.NodeShare{{Node: "n1", Workers: 2}}, Workers: 2},
		Rule: rule, StepTime: seconds, Reading: &queue.Reading{Step: 10}}
	r.Measured = data.Measurement{Status: data.OK, StepTime: seconds, StepTimeSE: seconds / 100, Steps: 50,
		Config: data.Config{Job: "resnet", GPUType: "a100", Placement: data.Placement{2}, Nodes: 1, Workers: 2, LocalBatch: 64}}
	return r
}

func predict(t testing.TB, path string, c data.Config) data.Estimate {
	t.Helper()
	m, err := fit.ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(c)
	if err != nil {
		t.Fatal(err)
	}
	return p.StepTime
}

// A job as fast as its model keeps it. One that drifted gets its own model, which
// covers the measurement and differs in other configurations too.
func TestRefit(t *testing.T) {
	rule := &data.JobRule{Model: model(t, "toy", 1)}
	for _, slower := range []float64{1, 1.2, 1.5, 8} {
		m := &learn.Models{Folder: t.TempDir(), Rules: []data.JobRule{*rule}, Most: 1}
		row := running(rule, .21*slower)
		path := m.Of(t.Context(), row)
		if slower == 1 {
			if path != rule.Model || len(m.Updates) > 0 {
				t.Errorf("as predicted: %s, %+v", path, m.Updates)
			}
			continue
		}
		if len(m.Updates) != 1 || m.Updates[0].Kind != learn.Refit || path == rule.Model || len(m.Warnings) > 0 {
			t.Fatalf("%g times slower: %s, %+v, %q", slower, path, m.Updates, m.Warnings)
		}
		if now := predict(t, path, row.Measured.Config); row.StepTime < now.Lo || row.StepTime > now.Hi {
			t.Errorf("%g times slower: measured %g, predicted %+v", slower, row.StepTime, now)
		}
		four := row.Measured.Config
		four.Workers, four.Placement, four.LocalBatch = 4, data.Placement{4}, 32
		was, now := predict(t, rule.Model, four), predict(t, path, four)
		t.Logf("%g times slower on 2 workers: on 4 %.3f, before %.3f", slower, now, was)
		if now.Mean < was.Mean*math.Sqrt(slower) || slower < 2 && now.Hi > 2*now.Lo {
			t.Errorf("%g times slower on 2 workers: on 4 %+v, before %+v", slower, now, was)
		}
		if again := (&learn.Models{Folder: m.Folder, Rules: m.Rules, Most: 1}); again.Of(t.Context(), row) != path || len(again.Updates) > 0 {
			t.Errorf("the next turn: %+v", again.Updates)
		}
		if err := m.Forget(row.ID); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(m.Folder + "/*"); len(left) > 0 {
			t.Errorf("a job that has left leaves %q", left)
		}
	}
}

// A job whose rule names no model has none until it was measured. Then it has one
// that names the jobs it borrows from, and the next job of the rule starts with it.
func TestBorrow(t *testing.T) {
	rules := []data.JobRule{{Model: model(t, "toy", 1)}, {Match: data.Match{Name: "resnet*"}}}
	m := &learn.Models{Folder: t.TempDir(), Rules: rules, Most: 1}
	row := running(&rules[1], .3)
	row.StepTime, row.Measured.StepTime = 0, 0
	if path := m.Of(t.Context(), row); path != "" {
		t.Fatalf("nothing was measured: %s", path)
	}
	row = running(&rules[1], .3)
	path := m.Of(t.Context(), row)
	if len(m.Updates) != 1 || m.Updates[0].Kind != learn.Borrowed || strings.Join(m.Updates[0].From, " ") != "toy" {
		t.Fatalf("%+v, %q", m.Updates, m.Warnings)
	}
	if now := predict(t, path, row.Measured.Config); now.Lo > .3 || now.Hi < .3 {
		t.Errorf("measured 0.3, predicted %+v", now)
	}
	next := running(&rules[1], 0)
	next.ID, next.Measured = "8", data.Measurement{}
	if err := m.Forget(row.ID); err != nil {
		t.Fatal(err)
	}
	if path := m.Of(t.Context(), next); path == "" {
		t.Error("the next job of the rule has no model")
	}
	m.Most = 0
	if row.ID = "9"; m.Of(t.Context(), row) == m.Folder+"/9.json" {
		t.Error("more models were fitted than a turn may")
	}
}

func TestPropose(t *testing.T) {
	rule := &data.JobRule{}
	now := time.Unix(1000, 0)
	row := running(rule, .2)
	if p := learn.Propose(row, now); p != nil || row.Reading.Best != .2 {
		t.Errorf("a job that runs well: %+v, best %g", p, row.Reading.Best)
	}
	if row.StepTime = .39; learn.Propose(row, now) != nil {
		t.Error("more than half its speed is no straggler")
	}
	if row.StepTime = .41; kind(learn.Propose(row, now)) != learn.Slowed || row.Reading.Best != .2 {
		t.Errorf("less than half: %+v", learn.Propose(row, now))
	}
	row.StepTime, row.Reading.Pace, row.Reading.Told = 0, 2, now.Add(-10*time.Second)
	if p := learn.Propose(row, now); p != nil {
		t.Errorf("five lines late: %+v", p)
	}
	if p := learn.Propose(row, now.Add(time.Second)); kind(p) != check.Silent {
		t.Errorf("more: %+v", p)
	}
	row = running(rule, .2)
	row.Nodes = []data.NodeShare{{Node: "n1", Workers: 2}, {Node: "n2", Workers: 2}}
	for rank, seconds := range []float64{.2, .2, .5, .2} {
		for range 3 {
			row.Steps = append(row.Steps, check.Step{Worker: fmt.Sprint(rank), Step: -1, Time: seconds})
		}
	}
	if p := learn.Propose(row, now); kind(p) != check.Straggler || p.Node != "n2" {
		t.Errorf("%+v", p)
	}
}

func kind(p *learn.Proposal) string {
	if p == nil {
		return ""
	}
	return p.Kind
}

// An idle GPU is used to measure a job that could be faster on more, but for its
// restart, and only if the plan changes nothing else.
func TestProfile(t *testing.T) {
	rule := &data.JobRule{Model: model(t, "toy", 1), Workers: data.IntRange{Max: 6}}
	m := &learn.Models{Folder: t.TempDir(), Rules: []data.JobRule{*rule}, Most: 1}
	cluster := &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "a100", GPUs: 8}, {Name: "n2", GPUType: "a100", GPUs: 8}}}
	row := running(rule, .29)
	row.Measured.Workers, row.Measured.Placement, row.Measured.LocalBatch = 3, data.Placement{3}, 80
	row.Nodes[0].Workers, row.Model = 3, rule.Model
	rule.Remaining.Steps, rule.RestartSeconds = 10000, 100
	plan := func() *data.Plan {
		return &data.Plan{Jobs: []data.PlannedJob{{Name: "resnet", ID: "7", Action: data.Keep, Workers: 3, Placement: row.Nodes, LocalBatch: 80}}}
	}
	p := plan()
	if e := m.Profile(p, []queue.Row{*row}, cluster); e == nil || e.Workers != 6 || p.Jobs[0].Placement[0].Workers != 6 || p.Jobs[0].Action != data.Grow || math.Abs(p.Jobs[0].LocalBatch-40) > 1e-9 {
		t.Fatalf("%+v", e)
	}
	rule.RestartSeconds = 1e5
	if e := m.Profile(plan(), []queue.Row{*row}, cluster); e != nil {
		t.Errorf("its restart costs more: %+v", e)
	}
	rule.RestartSeconds, rule.Workers.Max = 100, 5
	if e := m.Profile(plan(), []queue.Row{*row}, cluster); e != nil {
		t.Errorf("its rule wants fewer: %+v", e)
	}
	rule.Workers.Max, cluster.Nodes = 6, cluster.Nodes[:1]
	cluster.Nodes[0].GPUs = 5
	if e := m.Profile(plan(), []queue.Row{*row}, cluster); e != nil {
		t.Errorf("its node has no room: %+v", e)
	}
	cluster.Nodes[0].GPUs = 8
	p = plan()
	p.Jobs = append(p.Jobs, data.PlannedJob{ID: "8", Action: data.Start})
	if e := m.Profile(p, []queue.Row{*row}, cluster); e != nil {
		t.Errorf("another job wants the GPUs: %+v", e)
	}
}

// A forecast uses the model until seconds per step are measured, and is wider if
// they differ from look to look.
func TestForecast(t *testing.T) {
	rule := &data.JobRule{Model: model(t, "toy", 1), Remaining: data.Remaining{Steps: 1010}, RestartSeconds: 30}
	m := &learn.Models{Folder: t.TempDir(), Rules: []data.JobRule{*rule}}
	row := running(rule, .2)
	row.Step, row.Started = 10, time.Unix(1000, 0)
	forecast := func(rows ...queue.Row) data.Estimate {
		m.Forecast(rows, time.Unix(1010, 0))
		return rows[0].Finish
	}
	rule.Batch.Initial, row.StepTime = 128, 0
	if p, got := predict(t, rule.Model, row.Config()), forecast(*row); got != p.Scale(1000) {
		t.Errorf("by the model: %+v, want 1000 times %+v", got, p)
	}
	row.StepTime = .3
	if got := forecast(*row); math.Abs(got.Mean-300) > 1e-6 || got.Lo > 250 {
		t.Errorf("0.3 s in the log: %+v", got)
	}
	alone, near, far := forecast(*row), *running(rule, .2), *running(rule, .2)
	near.Reading.Looks, near.Reading.Wall = 1, math.Log(predict(t, rule.Model, near.Config()).Mean)
	far.Reading.Looks, far.Reading.Wall = 1, near.Reading.Wall+.5
	if got := forecast(*row, near, near); got != alone {
		t.Errorf("beside jobs whose clocks are their models': %+v, alone %+v", got, alone)
	}
	if got := forecast(*row, near, far); got.Mean != alone.Mean || got.Hi < 1.5*alone.Hi {
		t.Errorf("beside one whose clock is not: %+v, alone %+v", got, alone)
	}
	row.Reading.Looks, row.Reading.Wall = 3, math.Log(.4)
	slow := forecast(*row)
	if math.Abs(slow.Mean-400) > 1e-6 || slow.Lo >= 400 || slow.Hi <= 400 {
		t.Errorf("0.4 s a step on the clock: %+v", slow)
	}
	row.Reading.Spread = .5
	if wide := forecast(*row); wide.Hi < 1.5*slow.Hi || wide.Lo > slow.Lo/1.5 {
		t.Errorf("a clock that differs from look to look: %+v, steady %+v", wide, slow)
	}
	row.StepTime, row.Restarts = 0, 1
	if again := forecast(*row); math.Abs(again.Mean-420) > 1e-6 {
		t.Errorf("20 s of its restart are left: %+v", again)
	}
	row.State = queue.Pending
	if got := forecast(*row); got != (data.Estimate{}) {
		t.Errorf("a job that waits: %+v", got)
	}
}
