package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/convergence"
)

func measured(workers int, batch, step float64) data.Measurement {
	return data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{
		Job: "j", GPUType: "t4", Mode: data.AllReduce, Workers: workers, LocalBatch: batch, Nodes: (workers + 3) / 4}}
}

// fallingCurve returns n points of 1/(.3x + 1) + .1.
func fallingCurve(n int) []data.CurvePoint {
	nan := math.NaN()
	var ps []data.CurvePoint
	for i := range n {
		x := float64(i + 1)
		ps = append(ps, data.CurvePoint{Step: nan, Epoch: nan, Progress: x, Loss: 1/(.3*x+1) + .1, Metric: nan, GlobalBatch: nan, GradSqr: nan, GradVar: nan})
	}
	return ps
}

func TestAddCurve(t *testing.T) {
	m, err := Fit([]data.Measurement{measured(1, 32, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ToLoss(.1); !errors.Is(err, ErrNoCurve) {
		t.Errorf("without a curve: %v", err)
	}
	points := fallingCurve(30)
	for i := range points {
		points[i].GradSqr, points[i].GradVar = 1, float64(i) // φ grows from 0
	}
	if err := m.AddCurve(points, data.Batch{Initial: 32}, convergence.Settings{}); err != nil {
		t.Fatal(err)
	}
	if phi := m.NoiseScale().Phi; phi.Mean < 21*32 || phi.Mean > 22*32 || phi.Lo > 17*32 || phi.Hi < 27*32 {
		t.Errorf("φ = %+v, want the middle of the later half, 15·32 to 29·32, and most of it", phi)
	}
	if _, err := m.ToLoss(.15); err != nil {
		t.Error(err)
	}
	points[0].Job = "other"
	if err := m.AddCurve(points, data.Batch{Initial: 32}, convergence.Settings{}); err == nil || !strings.Contains(err.Error(), `found "other"`) {
		t.Errorf("a curve of another job: %v", err)
	}
	if err := m.AddCurve(nil, data.Batch{}, convergence.Settings{}); err == nil {
		t.Error("an empty curve was accepted")
	}
}

// TestCurveAtAnotherBatch: the time to a loss at the batch of the curve is that
// of the steps the curve took, as time counts progress by goodput.
func TestCurveAtAnotherBatch(t *testing.T) {
	m, err := Fit([]data.Measurement{measured(1, 256, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	points := fallingCurve(40)
	for i := range points {
		points[i].Step, points[i].Progress, points[i].GlobalBatch = points[i].Progress, math.NaN(), 256
		points[i].GradSqr, points[i].GradVar = 1, 3 // φ = 96 samples
	}
	if err := m.AddCurve(points, data.Batch{Initial: 32}, convergence.Settings{Reach: convergence.First}); err != nil {
		t.Fatal(err)
	}
	to, err := m.ToLoss(.25)
	if err != nil {
		t.Fatal(err)
	}
	perStep := 256 / 32 * m.NoiseScale().Efficiency(256).Mean
	if got := to.Steps.Mean / perStep; got < 18 || got > 20 { // 1/(.3·19 + 1) + .1 = .249
		t.Errorf("%.1f steps at batch 256 to the loss of step 19", got)
	}
}

// TestCurveOfEpochs: a record of epochs alone gives no steps, and so no time,
// until the samples of an epoch are known.
func TestCurveOfEpochs(t *testing.T) {
	points := fallingCurve(40)
	for i := range points {
		points[i].Epoch, points[i].Progress = points[i].Progress, math.NaN()
	}
	for _, c := range []struct {
		batch, dataset float64
		steps          float64 // 0: unknown
	}{{0, 0, 0}, {32, 0, 0}, {0, 6400, 0}, {32, 6400, 19 * 200}} {
		m, err := Fit([]data.Measurement{measured(1, 256, .1)}, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.AddCurve(points, data.Batch{Initial: c.batch}, convergence.Settings{Reach: convergence.First, Dataset: c.dataset}); err != nil {
			t.Fatal(err)
		}
		to, err := m.ToLoss(.25) // 1/(.3·19 + 1) + .1 = .249
		switch {
		case c.steps == 0 && !errors.Is(err, ErrEpochs):
			t.Errorf("batch %g, dataset %g: %.1f steps, error %v, want ErrEpochs", c.batch, c.dataset, to.Steps.Mean, err)
		case c.steps > 0 && (err != nil || math.Abs(to.Steps.Mean-c.steps) > 200):
			t.Errorf("batch %g, dataset %g: %.1f steps, error %v, want about %g", c.batch, c.dataset, to.Steps.Mean, err, c.steps)
		}
	}
}

// Runs at several batches give a noise scale without gradient statistics. Runs of
// other settings are left out with a warning.
func TestCurveOfSeveralRuns(t *testing.T) {
	m, err := Fit([]data.Measurement{measured(1, 256, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, batch, worth float64) []data.CurvePoint {
		points := fallingCurve(60)
		for i := range points {
			p := &points[i]
			p.Run, p.Step, p.GlobalBatch, p.Progress = name, p.Progress, batch, math.NaN()
			p.Loss = 1/(.3*p.Step*worth+1) + .1
		}
		return points
	}
	const phi = 96
	points := append(run("small", 32, 1), run("large", 256, 256./32*(phi+32)/(phi+256))...)
	if err := m.AddCurve(points, data.Batch{}, convergence.Settings{Reach: convergence.First}); err != nil {
		t.Fatal(err)
	}
	if got := m.NoiseScale(); got == nil || !(got.Phi.Lo < phi && phi < got.Phi.Hi && got.Phi.Hi < 20*got.Phi.Lo) {
		t.Errorf("%+v, want φ = %d samples", got, phi)
	}
	if to, err := m.ToLoss(.15); err != nil || to.Steps.Mean < 60 || to.Steps.Mean > 67 { // 1/(.3·63.3 + 1) = .05
		t.Errorf("%+v, %v, want 63 steps", to, err)
	}
	for _, w := range m.Warnings() {
		if strings.Contains(w, "training curve") {
			t.Error(w)
		}
	}
	points = append(points, run("slow", 32, .1)...)
	if err := m.AddCurve(points, data.Batch{}, convergence.Settings{Reach: convergence.First}); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(m.Warnings(), "\n"); !strings.Contains(w, "1 run with other losses at the same step") || !strings.Contains(w, "kept: slow;") {
		t.Errorf("warnings %q", w)
	}
}

// Points without a run that have one step at two batches are two runs.
func TestRunsWithoutNames(t *testing.T) {
	var named, nameless []data.CurvePoint
	for _, batch := range []float64{32, 256} {
		for step := 10.; step <= 1000; step += 10 {
			worth := step * batch / 32 * (320 + 32) / (320 + batch) // a noise scale of 320 samples
			p := data.CurvePoint{Step: step, Loss: .3 + 3*math.Pow(1+worth/200, -.8), GlobalBatch: batch, Epoch: math.NaN(), Progress: math.NaN(), Metric: math.NaN(), GradSqr: math.NaN(), GradVar: math.NaN()}
			nameless = append(nameless, p)
			p.Run = fmt.Sprint("run ", batch)
			named = append(named, p)
		}
	}
	for what, points := range map[string][]data.CurvePoint{"named": named, "nameless": nameless} {
		_, noise, _, err := Comparable(points, 32, &convergence.Settings{})
		if err != nil || !(noise.Phi.Lo < 320 && 320 < noise.Phi.Hi) {
			t.Errorf("%s runs: noise scale %+v, error %v, want 320", what, noise, err)
		}
	}
}

// A run that continues from a checkpoint at a larger batch is one.
func TestRunThatChangesItsBatch(t *testing.T) {
	var points []data.CurvePoint
	for step := 10.; step <= 1000; step += 10 {
		for _, batch := range []float64{32, 256} {
			if batch == 32 && step <= 700 || batch == 256 && step > 600 {
				points = append(points, data.CurvePoint{Step: step, GlobalBatch: batch})
			}
		}
	}
	for _, p := range runsByBatch(points) {
		if p.Run != "" {
			t.Fatalf("step %g is of run %q", p.Step, p.Run)
		}
	}
}

// Without epochs, the dataset says how long one is; else each point counts as one,
// which a plan in epochs is warned of.
func TestEpochsOfARecordOfSteps(t *testing.T) {
	var points []data.CurvePoint
	for step := 10.; step <= 1000; step += 10 {
		points = append(points, data.CurvePoint{Step: step, Loss: .3 + 3*math.Pow(1+step/200, -.8), GlobalBatch: 32, Epoch: math.NaN(), Progress: math.NaN(), Metric: math.NaN(), GradSqr: math.NaN(), GradVar: math.NaN()})
	}
	for _, dataset := range []float64{0, 32 * 320} {
		m, err := Fit([]data.Measurement{measured(1, 32, 1)}, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.AddCurve(points, data.Batch{Initial: 32}, convergence.Settings{PlannedEpochs: 150, Dataset: dataset}); err != nil {
			t.Fatal(err)
		}
		steps, warned := 10., true
		if dataset > 0 {
			steps, warned = 320, false
		}
		if c := m.Convergence(); c.EpochSteps != steps || c.Planned != 150*steps {
			t.Errorf("dataset of %g: epochs of %g steps, planned %g", dataset, c.EpochSteps, c.Planned)
		}
		if got := slices.Contains(m.Warnings(), "training curve: "+NoEpochs); got != warned {
			t.Errorf("dataset of %g: warnings %q", dataset, m.Warnings())
		}
	}
}

// The price of a worker is that of the measured configurations, by GPU type.
func TestPrices(t *testing.T) {
	two, four := measured(2, 32, 1), measured(4, 32, 1)
	two.PricePerHour, four.PricePerHour = 6, 12
	m, err := Fit([]data.Measurement{measured(1, 32, 1), two, four}, Settings{})
	if err != nil || len(m.Prices(nil)) != 1 || m.Prices(nil)["t4"] != 3 {
		t.Errorf("%v, error %v", m.Prices(nil), err)
	}
}
