package speed_test

import (
	"context"
	"math"
	"testing"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
)

// width is the length of the interval of a prediction, in ln step time.
func width(t *testing.T, m *speed.Model, c data.Config) float64 {
	t.Helper()
	p, err := m.Predict(c)
	if err != nil {
		t.Fatal(err)
	}
	return math.Log(p.StepTime.Hi / p.StepTime.Lo)
}

// A part of the layout, or a number of servers, measured at one value is less certain at
// others, the more so the further away; the value measured is as certain as before.
func TestOneValueLeavesOthersOpen(t *testing.T) {
	layouts := []data.Measurement{
		layoutRow(8, 2, 1, 4, 64, ""), layoutRow(8, 2, 1, 2, 64, ""), layoutRow(16, 2, 1, 4, 64, ""), layoutRow(16, 2, 1, 1, 64, ""),
	}
	servers := []data.Measurement{serversRow(1, 4), serversRow(2, 4), serversRow(4, 4), serversRow(8, 4)}
	tried := *prior.Default()
	tried.Kernel.Untried = 0
	for _, of := range []struct {
		name  string
		rows  []data.Measurement
		other []data.Config // nearest first
	}{
		{"tensor-parallel degree", layouts, []data.Config{layoutRow(16, 4, 1, 4, 64, "").Config, layoutRow(16, 8, 1, 4, 64, "").Config}},
		{"recomputation", layouts, []data.Config{layoutRow(16, 2, 1, 4, 64, "full").Config}},
		{"servers", servers, []data.Config{serversRow(4, 8).Config, serversRow(4, 16).Config}},
	} {
		open, err := speed.Fit(context.Background(), of.rows, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		closed, err := speed.Fit(context.Background(), of.rows, speed.Settings{Prior: &tried})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := width(t, open, of.rows[0].Config), width(t, closed, of.rows[0].Config); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s, as measured: width %g, want %g", of.name, got, want)
		}
		added := 0.
		for _, c := range of.other {
			by := math.Pow(width(t, open, c), 2) - math.Pow(width(t, closed, c), 2)
			if by <= added {
				t.Errorf("%s, %s: the square of the width grows by %g, want more than %g", of.name, c, by, added)
			}
			added = by
		}
	}
}

func serversRow(workers, ps int) data.Measurement {
	k, p := float64(workers), float64(ps)
	return data.Measurement{Status: data.OK, StepTime: .1 + .8/k + .2*k/p, Config: data.Config{
		Job: "j", GPUType: "cpu", Mode: data.PSSync, Workers: workers, PS: ps, LocalBatch: 64 / k}}
}

// Rows without micro-batches do not say how pipelines are filled: one micro-batch, which
// works on one stage at a time, is as likely as many. With micro-batches that is known.
func TestPipelinesMayBeUnfilled(t *testing.T) {
	row := func(tp, pp int, step float64) data.Measurement {
		c := data.Config{Job: "j", GPUType: "a100", Workers: 8, Nodes: 1, Layout: data.Layout{TP: tp, PP: pp, MicroUnknown: true}}
		c.LocalBatch = 32 / float64(c.Replicas())
		return data.Measurement{Config: c, Status: data.OK, StepTime: step}
	}
	m, err := speed.Fit(context.Background(), []data.Measurement{row(2, 1, 1), row(4, 1, 1.02), row(8, 1, 1.05)}, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	unknown := row(1, 8, 0).Config
	known := unknown
	known.MicroUnknown, known.LocalBatch, known.AccumSteps = false, 1, 31
	p, err := m.Predict(unknown)
	if err != nil {
		t.Fatal(err)
	}
	if full, empty := 1., 8.; p.StepTime.Lo > full || p.StepTime.Hi < empty { // eight stages busy, or one at a time
		t.Errorf("eight stages: %v s, want both %g and %g inside", p.StepTime, full, empty)
	}
	if p, err = m.Predict(known); err != nil {
		t.Fatal(err)
	}
	if filled := 1 + 7./32; p.Median > 2*filled || p.StepTime.Hi > 8 { // the bubble of seven stages' times in 32
		t.Errorf("eight stages, 32 micro-batches: median %.3g in %v s, want about %.3g", p.Median, p.StepTime, filled)
	}
}

// A knob measured at one value may make steps faster or slower at others, and is not said
// to do either: the value predicted is the median, and not far from that measured.
func TestKnobOfOneValueLeavesTheMedian(t *testing.T) {
	var rows []data.Measurement
	at := func(workers int, width string) data.Config {
		return data.Config{Job: "j", GPUType: "a100", Workers: workers, Nodes: 1, LocalBatch: 16, Extra: map[string]string{"width": width}}
	}
	for i, step := range []float64{.167, .168, .172, .1695} {
		rows = append(rows, data.Measurement{Config: at(1<<i, "512"), StepTime: step, Status: data.OK})
	}
	m, err := speed.Fit(context.Background(), rows, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []string{"128", "1024", "4096"} {
		p, err := m.Predict(at(4, width))
		if err != nil {
			t.Fatal(err)
		}
		if e := p.StepTime; e.Mean != p.Median || e.Lo > .17/2 || e.Hi < 2*.17 {
			t.Errorf("width %s: %v s, median %g; want the median, and half and twice .17 inside", width, e, p.Median)
		}
	}
}
