package speed

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/fit/speed/form"
)

// Any measurements give finite, ordered predictions.
func TestFitNeverBreaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom(data.Modes()).Draw(t, "mode")
		family := rapid.SampledFrom(append(form.FamiliesOf(mode), Auto)).Draw(t, "family")
		row := rapid.Custom(func(t *rapid.T) data.Measurement {
			k := rapid.IntRange(1, 16).Draw(t, "k")
			m := data.Measurement{Status: data.OK, Config: data.Config{
				GPUType: "t4", Mode: mode, Workers: k, PS: rapid.IntRange(0, 3).Draw(t, "p"),
				LocalBatch: rapid.SampledFrom([]float64{0, 1, 8, 512}).Draw(t, "b"),
				AccumSteps: rapid.IntRange(0, 2).Draw(t, "s"),
				Placement:  data.EvenPlacement(k, rapid.IntRange(1, k).Draw(t, "n")),
			}}
			m.StepTime = math.Exp(rapid.Float64Range(-9, 6).Draw(t, "ln t"))
			m.SyncTime = m.StepTime * rapid.SampledFrom([]float64{0, .3, 1}).Draw(t, "sync")
			m.StepTimeSD, m.Steps = m.StepTime*rapid.SampledFrom([]float64{0, .1, 5}).Draw(t, "sd"), 4
			return m
		})
		ms := rapid.SliceOfN(row, 1, 6).Draw(t, "rows")
		m, err := fitAll(ms, Settings{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, 3, 64} {
			p, err := m.Predict(data.Config{Workers: k, PS: 2, LocalBatch: 64})
			e := p.StepTime
			if err != nil || !(e.Lo > 0) || !(e.Lo <= e.Mean && e.Mean <= e.Hi) || math.IsInf(e.Hi, 0) || !(p.Expected > 0) || math.IsInf(p.Expected, 0) {
				t.Fatalf("%d workers: %+v, error %v", k, p, err)
			}
		}
	})
}

func TestOneMeasurementIsEnough(t *testing.T) {
	m, err := fitAll([]data.Measurement{measured(1, 32, .2)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	here, err := m.Predict(data.Config{Workers: 1, LocalBatch: 32})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(here.StepTime.Mean/.2-1) > .05 || here.Extrapolated || here.Support != 1 {
		t.Errorf("at the measurement: %+v", here)
	}
	far, err := m.Predict(data.Config{Workers: 16, Nodes: 4, LocalBatch: 32})
	if err != nil {
		t.Fatal(err)
	}
	if far.StepTime.Hi/far.StepTime.Lo < 2 {
		t.Errorf("far away the interval is only %+v", far.StepTime)
	}
	for _, want := range []string{"workers 16, measured 1", "nodes 4", "workers on one node 4"} {
		if !strings.Contains(far.Why, want) {
			t.Errorf("why = %q lacks %q", far.Why, want)
		}
	}
	if !slices.ContainsFunc(m.Warnings(), func(w string) bool { return strings.Contains(w, "single measurement") }) {
		t.Errorf("warnings %q do not say that there was one measurement", m.Warnings())
	}
}

// A measurement with a large recorded standard error has less weight than an
// exact one.
func TestSpreadOfAMeasurementCounts(t *testing.T) {
	base := []data.Measurement{measured(1, 16, .1), measured(1, 32, .2), measured(2, 32, .25), measured(4, 32, .3)}
	predict := func(sd float64) data.Estimate {
		ms := slices.Clone(base)
		ms[1].StepTimeSD, ms[1].Steps = sd, 1
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(data.Config{Workers: 1, LocalBatch: 32})
		if err != nil {
			t.Fatal(err)
		}
		return p.StepTime
	}
	exact, vague := predict(0), predict(.2)
	if math.Abs(exact.Mean-.2) >= math.Abs(vague.Mean-.2) {
		t.Errorf("exact row gives %g, vague row %g, measured 0.2", exact.Mean, vague.Mean)
	}
}

func TestRepeatsAreMerged(t *testing.T) {
	m, err := fitAll([]data.Measurement{measured(2, 32, .1), measured(2, 32, .4), measured(1, 32, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Measurements("t4", data.AllReduce)
	if len(rows) != 2 || math.Abs(rows[1].StepTime-.2) > 1e-12 {
		t.Errorf("rows %+v, want the geometric mean 0.2 last", rows)
	}
	if p, _ := m.Predict(data.Config{Workers: 2, LocalBatch: 32}); p.Support != 3 {
		t.Errorf("support %d, want 3", p.Support)
	}
}

func TestManyMeasurementsAreThinned(t *testing.T) {
	m, err := fitAll(synthetic(maxRows+40), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Measurements("t4", data.AllReduce)); n != maxRows {
		t.Errorf("kept %d rows, want %d", n, maxRows)
	}
	if !slices.ContainsFunc(m.Warnings(), func(w string) bool { return strings.Contains(w, "are used") }) {
		t.Errorf("no warning in %q", m.Warnings())
	}
}

func TestFitRefuses(t *testing.T) {
	other := measured(2, 32, .1)
	other.Job = "other"
	negative := measured(1, 32, .1)
	negative.StepTime, negative.Source = -1, data.Source{File: "m.csv", Line: 7}
	failed := measured(1, 32, .1)
	failed.Status = data.Failed
	tests := []struct {
		name   string
		ms     []data.Measurement
		family string
		want   string
	}{
		{"nothing", nil, "", "at least one with status ok"},
		{"only failures", []data.Measurement{failed}, "", "none of them ok"},
		{"two jobs", []data.Measurement{measured(1, 32, .1), other}, "", `found "other", want measurements of one job, as before "j"`},
		{"bad row", []data.Measurement{negative}, "", "m.csv:7:step_time_s: found -1"},
		{"unknown family", []data.Measurement{measured(1, 32, .1)}, "polux", "amdahl, collective, ernest"},
		{"wrong mode", []data.Measurement{measured(1, 32, .1)}, "ps", "mode allreduce"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := fitAll(tt.ms, Settings{Family: tt.family})
			var in *data.InputError
			if !errors.As(err, &in) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want a data.InputError with %q", err, tt.want)
			}
		})
	}
}

func TestPredictRefuses(t *testing.T) {
	m, err := fitAll([]data.Measurement{measured(1, 32, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		c    data.Config
		want string
	}{
		{data.Config{GPUType: "h100", Workers: 1}, "measured: t4"},
		{data.Config{Mode: data.PSSync, Workers: 1}, "measured there: allreduce"},
		{data.Config{}, "at least 1 worker"},
		{data.Config{Workers: 3, Placement: data.Placement{1, 1}}, "a placement of 3 workers"},
		{data.Config{Workers: 1, LocalBatch: math.NaN()}, "1e-06 to 1e+12 samples"},
	}
	for _, tt := range tests {
		if _, err := m.Predict(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: error %v, want %q", tt.c, err, tt.want)
		}
	}
}

func TestSeedDecidesEverything(t *testing.T) {
	ms := synthetic(12)
	c := data.Config{Workers: 16, Nodes: 4, LocalBatch: 64}
	predict := func(ms []data.Measurement, seed int64) data.Estimate {
		m, err := fitAll(ms, Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(c)
		if err != nil {
			t.Fatal(err)
		}
		return p.StepTime
	}
	a, b, other := predict(ms, 1), predict(ms, 1), predict(ms, 2)
	if a != b {
		t.Errorf("same seed: %+v and %+v", a, b)
	}
	if math.Abs(a.Mean/other.Mean-1) > .1 || a == other {
		t.Errorf("another seed should move %+v a little, got %+v", a, other)
	}
}

func TestUnknownNodesFillTheWidestMeasured(t *testing.T) {
	m, err := fitAll(synthetic(24), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	open, _ := m.StepTime(data.Config{Workers: 16, LocalBatch: 16})
	packed, _ := m.StepTime(data.Config{Workers: 16, LocalBatch: 16, Placement: data.Placement{4, 4, 4, 4}})
	if open != packed {
		t.Errorf("without a placement %g, packed %g", open, packed)
	}
}

func TestFamiliesScores(t *testing.T) {
	m, err := fitAll(synthetic(20), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := m.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]FamilyScore{}
	for _, s := range scores {
		names[s.Family] = s
	}
	for _, want := range form.FamiliesOf(data.AllReduce) {
		s, ok := names[want]
		if want == form.LayoutFamily { // for layouts only
			if ok {
				t.Error("the family of layouts is scored where there are none")
			}
			continue
		}
		if !ok || !(s.LeaveOneOut > 0) || !(s.Forward > 0) || len(s.Parameters) == 0 {
			t.Errorf("family %s: %+v", want, s)
		}
	}
	own, linear := names["collective"], names["ernest"]
	if !own.Chosen || linear.Chosen || own.LeaveOneOut > 5 || own.Forward > 10 {
		t.Errorf("the family the data came from scored %.1f %% and %.1f %%", own.LeaveOneOut, own.Forward)
	}
	if linear.LeaveOneOut < own.LeaveOneOut || scores[0].LeaveOneOut > scores[len(scores)-1].LeaveOneOut {
		t.Errorf("a form that cannot tell nodes apart scored %.1f %%, ours %.1f %%", linear.LeaveOneOut, own.LeaveOneOut)
	}
}

func ExampleFit() {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4} {
		ms = append(ms, data.Measurement{
			Config:   data.Config{Job: "resnet", GPUType: "a100", Workers: k, Placement: data.Placement{k}, LocalBatch: 64},
			StepTime: .1 + .02*float64(k-1), Status: data.OK,
		})
	}
	m, err := fitAll(ms, Settings{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Predict(data.Config{Workers: 8, Placement: data.Placement{8}, LocalBatch: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("about %.1f s, extrapolated: %v (%s)\n", p.StepTime.Mean, p.Extrapolated, p.Why)
	// Output: about 0.2 s, extrapolated: true (workers 8, measured 1 to 4; workers on one node 8, measured 1 to 4)
}

// The order of rows does not matter.
func TestRowsOutOfOrder(t *testing.T) {
	var ms []data.Measurement
	for i, k := range []int{1, 2, 4, 8, 2, 8} {
		ms = append(ms, measured(k, 32, .1+.002*float64(k)+.001*float64(i%2)))
	}
	ask := data.Config{GPUType: "t4", Workers: 32, Nodes: 8, LocalBatch: 32}
	var first Prediction
	for range len(ms) {
		ms = append(ms[1:], ms[0])
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(ask)
		if err != nil {
			t.Fatal(err)
		}
		if first.Support == 0 {
			first = p
		}
		if math.Abs(p.StepTime.Mean/first.StepTime.Mean-1) > 1e-6 || math.Abs(p.StepTime.Hi/first.StepTime.Hi-1) > 1e-6 {
			t.Errorf("rows in one order: %+v, in another: %+v", first.StepTime, p.StepTime)
		}
	}
}

// The form alone is that of the whole model, also with an outlier.
func TestFormOnly(t *testing.T) {
	for _, n := range []int{3, 24} {
		ms := synthetic(n)
		if n > 3 {
			ms[7].StepTime *= 20
		}
		whole, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := fitAll(ms, Settings{FormOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range synthetic(40) {
			want, got := whole.Timer("t4", data.AllReduce).StepTime(m.Config), alone.Timer("t4", data.AllReduce).StepTime(m.Config)
			if got != want {
				t.Errorf("of %d measurements: %s takes %g s by the form alone, want %g", n, m.Config, got, want)
			}
		}
	}
}

// Parameters are in seconds of the network that was measured.
func TestParametersOfAKnownSize(t *testing.T) {
	compute := func(a data.Architecture) float64 {
		var ms []data.Measurement
		for _, tp := range []int{1, 2, 4, 8} {
			for _, b := range []float64{1, 2, 4} {
				ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: 8, Nodes: 1, LocalBatch: b, Layout: data.Layout{TP: tp}, Architecture: a},
					StepTime: .6 * b / float64(tp), Status: data.OK})
			}
		}
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.groups[0].post.parameters(0) {
			if p.Name == "compute" {
				return p.Value.Mean
			}
		}
		return 0
	}
	for _, a := range []data.Architecture{{}, {Layers: 32, Hidden: 4096, Heads: 32, SeqLen: 2048, Vocab: 50304}} {
		if got := compute(a); got < .4 || got > .8 {
			t.Errorf("size %+v: %g s/sample, want about .6", a, got)
		}
	}
}
