package plots

import (
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/fit/speed"
	"knee/predict"
)

// The points of a curve are what was measured, in every mode: a step of
// ps-async holds the samples of one worker only.
func TestModelSeriesShowsWhatWasMeasured(t *testing.T) {
	for _, mode := range data.Modes() {
		var ms []data.Measurement
		for _, k := range []int{1, 2, 4} {
			c := data.Config{Job: "j", GPUType: "cpu", Mode: mode, Workers: k, LocalBatch: 32}
			if mode.UsesPS() {
				c.PS = 2
			}
			ms = append(ms, data.Measurement{Config: c, StepTime: .01 * float64(1+k), Status: data.OK})
		}
		m, err := fit.Fit(ms, fit.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ScalabilityOf([]Condition{{Predictor: &predict.Predictor{Model: m}, Base: ms[0].Config, Workers: []int{1, 2, 4}}}, Throughput)
		if err != nil {
			t.Fatal(err)
		}
		s := all.Series[0]
		if len(s.Points) != 3 {
			t.Fatalf("%s: %d points on the curve, want 3", mode, len(s.Points))
		}
		for i, p := range s.Points {
			if want := ms[i].Throughput(); math.Abs(p.Y/want-1) > 1e-9 {
				t.Errorf("%s, %d workers: point at %g samples/s, measured %g", mode, ms[i].Workers, p.Y, want)
			}
			if curve := s.Curve[i].Mean; curve/p.Y < .5 || curve/p.Y > 2 {
				t.Errorf("%s, %d workers: the curve is at %g and the point at %g", mode, ms[i].Workers, curve, p.Y)
			}
		}
	}
}

// rows measures a job of compute and a cost per worker.
func rows(gpu string, batch func(k int) float64, workers ...int) []data.Measurement {
	var ms []data.Measurement
	for _, k := range workers {
		c := data.Config{Job: "j", GPUType: gpu, Mode: data.AllReduce, Workers: k, LocalBatch: batch(k)}
		ms = append(ms, data.Measurement{Config: c, StepTime: c.LocalBatch*.001 + .005*float64(k), Status: data.OK})
	}
	return ms
}

func modelOf(t *testing.T, ms []data.Measurement) *predict.Predictor {
	t.Helper()
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &predict.Predictor{Model: m}
}

// Curves of different conditions say in what they differ, and the subtitle says
// what they share.
func TestConditionsAreNamedByWhatTheyDifferIn(t *testing.T) {
	constant := func(b float64) func(int) float64 { return func(int) float64 { return b } }
	p := modelOf(t, append(rows("a100", constant(64), 1, 2, 4), rows("v100", constant(1), 1, 2, 4)...))
	all, err := Conditions(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ScalabilityOf(all, Throughput)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Series) != 2 || s.Series[0].Name != "a100, 64 samples per worker" || s.Series[1].Name != "v100, 1 sample per worker" || s.Subtitle != "allreduce" {
		t.Errorf("curves %q and %q under %q", s.Series[0].Name, s.Series[1].Name, s.Subtitle)
	}
	e, err := efficiencyOf(all[:1])
	if err != nil {
		t.Fatal(err)
	}
	// 64 samples in .069 s, one worker: a million take .069/64*1e6/3600 hours.
	if got, want := e.Cost[0].Points[0].Y, .069/64*1e6/3600; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("a million samples cost %g worker-hours, want %g", got, want)
	}
}

// A knob of one value is shared, whatever other knobs differ; a GPU type that is unknown
// leaves no gap.
func TestKnobsAreNamedOneByOne(t *testing.T) {
	var ms []data.Measurement
	for _, mode := range []data.Mode{data.AllReduce, data.PSSync} {
		for i, m := range rows("", func(int) float64 { return 32 }, 1, 2, 4, 8) {
			m.Mode, m.Extra = mode, map[string]string{"codec": []string{"none", "topk"}[i%2], "width": []string{"64", "128"}[i/2]}
			if mode.UsesPS() {
				m.PS = 1
			}
			ms = append(ms, m)
		}
	}
	p := modelOf(t, ms)
	var all []Condition
	for _, codec := range []string{"none", "topk"} {
		all = append(all, Condition{Predictor: p, Base: data.Config{Job: "j", Mode: data.AllReduce, LocalBatch: 32, Extra: map[string]string{"codec": codec, "width": "64"}}})
	}
	if names, shared := namesOf(all); !slices.Equal(names, []string{"codec none", "codec topk"}) || shared != "allreduce, 32 samples per worker, width 64" {
		t.Errorf("curves %q under %q", names, shared)
	}
	all[0].Base.Mode = data.PSSync
	fig, err := NewSpeed(all[0], false)
	if err != nil || fig.Subtitle != "ps-sync, 32 samples per worker" {
		t.Errorf("subtitle %q, %v", fig.Subtitle, err)
	}
}

// The batch that is marked is the one that is advised, which is a point of the
// figure.
func TestBatchOfMarksTheAdvice(t *testing.T) {
	ms := append(rows("a100", func(int) float64 { return 24 }, 1, 2, 4), rows("a100", func(int) float64 { return 200 }, 1, 2, 4)...)
	p := modelOf(t, ms)
	base := data.Config{Job: "j", GPUType: "a100", Workers: 2}
	advised, err := p.BestBatch(base)
	if err != nil {
		t.Fatal(err)
	}
	b, err := batchOf(p, base, 0)
	if err != nil {
		t.Fatal(err)
	}
	unknown := modelOf(t, append(rows("a100", func(int) float64 { return 0 }, 2), ms...))
	if b, err := batchOf(unknown, base, 0); err != nil || len(b.Measured) != 2 {
		t.Errorf("measured %v, %v: want what has a batch", b.Measured, err)
	}
	if b.Best != advised.Config.GlobalBatch() || !slices.ContainsFunc(b.Throughput, func(g Band) bool { return g.X == b.Best }) {
		t.Errorf("%g is marked of %d batches, %g is advised", b.Best, len(b.Throughput), advised.Config.GlobalBatch())
	}
	// What was measured on as many workers is on it: batch·.001 s + .005 s per worker.
	if m := b.Measured; len(m) != 2 || m[0].X != 48 || math.Abs(m[0].Y/(48/.034)-1) > 1e-9 || m[1].X != 400 || math.Abs(m[1].Y/(400/.21)-1) > 1e-9 {
		t.Errorf("measured %v, want 48 and 400 samples", m)
	}
	// Without gradient statistics nothing is known of goodput.
	if b.Goodput != nil || b.Efficiency != nil {
		t.Errorf("goodput %v and efficiency %v are drawn of a model without gradient statistics", b.Goodput, b.Efficiency)
	}
	fig, err := b.draw()
	if err != nil || len(fig.Charts) != 1 || len(fig.Charts[0].annotations) != 1 || fig.Charts[0].annotations[0].text != "fastest: 400" {
		t.Errorf("the figure has %d panels and marks %v (%v); want the throughput, fastest: 400", len(fig.Charts), fig.Charts[0].annotations, err)
	}
	c := Condition{Predictor: p, Base: base}
	if _, err := ScalabilityOf([]Condition{c}, Goodput); err == nil || !strings.Contains(err.Error(), "no gradient statistics") {
		t.Errorf("goodput without gradient statistics: %v", err)
	}
}

// Where a global batch was divided among the workers, that is the curve, with
// every measurement on it.
func TestAGlobalBatchIsDivided(t *testing.T) {
	p := modelOf(t, rows("a100", func(k int) float64 { return 256 / float64(k) }, 1, 2, 4, 8))
	all, err := Conditions(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ScalabilityOf(all, Throughput)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Series[0].Points) != 4 || s.Subtitle != "256 samples per step, divided among the workers" {
		t.Errorf("%d points under %q, want all 4 and the global batch", len(s.Series[0].Points), s.Subtitle)
	}
	for i, point := range s.Series[0].Points {
		k := point.X
		if want := 256 / (256/k*.001 + .005*k); math.Abs(point.Y/want-1) > 1e-9 {
			t.Errorf("point %d is %g samples/s, want %g", i, point.Y, want)
		}
	}
}

// Rows without a GPU type beside those of one are a curve of their own.
func TestAGPUTypeMayBeMissing(t *testing.T) {
	same := func(int) float64 { return 16 }
	all, err := Conditions(modelOf(t, append(rows("a100", same, 1, 2, 4), rows("", same, 1, 2)...)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ScalabilityOf(all, Throughput)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewScalability(s); err != nil || s.Series[1].Name != "(no gpu_type)" {
		t.Errorf("%v, curve %q", err, s.Series[1].Name)
	}
}

// A global batch of 256 in micro-steps of 16 samples, as where memory is scarce, is predicted
// as it was measured; in as many micro-steps at every size, that is the curve.
func TestAccumulatedBatches(t *testing.T) {
	for subtitle, accum := range map[string]func(k int) int{
		"256 samples per step, divided among the workers":     func(k int) int { return 16/k - 1 },
		"16 samples per worker and micro-step, 4 micro-steps": func(int) int { return 3 },
	} {
		ms := rows("a100", func(int) float64 { return 16 }, 1, 2, 4, 8)
		for i := range ms {
			ms[i].AccumSteps = accum(ms[i].Workers)
			ms[i].StepTime = .016*float64(ms[i].AccumSteps+1) + .005*float64(ms[i].Workers)
		}
		all, err := Conditions(modelOf(t, ms))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ScalabilityOf(all, Throughput)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Series[0].Points) != 4 || s.Subtitle != subtitle {
			t.Errorf("%d points under %q, want all 4 under %q", len(s.Series[0].Points), s.Subtitle, subtitle)
		}
		for _, point := range s.Series[0].Points {
			i := slices.IndexFunc(s.Series[0].Curve, func(b Band) bool { return b.X == point.X })
			if b := s.Series[0].Curve[i]; b.Extrapolated || point.Y < b.Lo || point.Y > b.Hi {
				t.Errorf("%s: %g samples/s are predicted with %g workers, %g measured", subtitle, b.Mean, b.X, point.Y)
			}
		}
	}
}

// A change that does nothing gains nothing, surely; a link twice as fast helps
// where there is something to send, and no more than twice.
func TestWhatIf(t *testing.T) {
	p := modelOf(t, rows("a100", func(int) float64 { return 64 }, 1, 2, 4, 8))
	all, err := Conditions(p)
	if err != nil {
		t.Fatal(err)
	}
	change := func(factor float64) Changed {
		m, err := p.Model.WhatIf([]speed.Change{{Parameter: "intra_node", Factor: factor}})
		if err != nil {
			t.Fatal(err)
		}
		with := *p.Model
		with.Model = m
		return Changed{Name: "link", Model: &with}
	}
	w, err := whatIfOf(all[0], []Changed{change(1), change(.5)})
	if err != nil {
		t.Fatal(err)
	}
	for i, none := range w.Faster[0].Curve {
		half := w.Faster[1].Curve[i]
		if none.Mean != 0 || none.Hi != 0 || half.Mean < 0 || half.Mean > 100 || half.X > 1 && !(half.Mean > 0) {
			t.Errorf("%g workers: no change gains %g %%, a link twice as fast %g %%", half.X, none.Mean, half.Mean)
		}
	}
	if _, err := w.draw(); err != nil {
		t.Error(err)
	}
}
