package speed_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// layoutTime simulates a 1F1B pipeline with tensor communication, far slower
// between nodes of eight, and gradients.
func layoutTime(c data.Config) float64 {
	t, p, d, m := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(c.Replicas()), float64(c.AccumSteps+1)
	stage := .02 * c.LocalBatch / t
	if c.Recompute == "full" {
		stage *= 4. / 3
	}
	if t > 1 {
		comm := .004 * c.LocalBatch * (t - 1) / t
		if t > 8 {
			comm *= 5
		}
		stage += comm
	}
	return (m+p-1)*stage/p + .03*(d-1)/d/(t*p) + .002
}

func layoutRow(workers, tp, pp int, batch, global float64, recompute string) data.Measurement {
	c := data.Config{Job: "gpt", GPUType: "a100", Workers: workers, Nodes: (workers + 7) / 8, LocalBatch: batch, Layout: data.Layout{TP: tp, PP: pp, Recompute: recompute}}
	c.AccumSteps = int(global/(float64(c.Replicas())*batch)) - 1
	return data.Measurement{Config: c, Status: data.OK, StepTime: layoutTime(c)}
}

func layoutRows() []data.Measurement {
	return []data.Measurement{
		layoutRow(8, 1, 1, 4, 64, ""), layoutRow(8, 2, 1, 4, 64, ""), layoutRow(8, 8, 1, 4, 64, ""), layoutRow(8, 1, 4, 2, 64, ""),
		layoutRow(8, 2, 2, 4, 64, "full"), layoutRow(16, 4, 2, 4, 64, ""), layoutRow(16, 1, 8, 1, 64, ""), layoutRow(16, 2, 4, 2, 64, "full"),
	}
}

// A large model with few gradients scales with its work, as the fine-tuning of a
// few parameters does. One run must not exclude it.
func TestLayoutsMayScaleWithTheirWork(t *testing.T) {
	c := data.Config{Job: "lora", GPUType: "h100", Workers: 8, Nodes: 1, LocalBatch: 4, Layout: data.Layout{TP: 4}}
	m, err := speed.Fit(context.Background(), []data.Measurement{{Config: c, Status: data.OK, StepTime: 3.6}}, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	c.Workers, c.Nodes, c.LocalBatch = 32, 4, 1
	p, err := m.Predict(c)
	if err != nil {
		t.Fatal(err)
	}
	if p.StepTime.Lo > .95 || p.StepTime.Mean > 2*.95 {
		t.Errorf("a quarter of the batch on each of four times the replicas: %v s, want it near %v", p.StepTime, 3.6/4)
	}
}

// Eight runs predict other layouts, also on twice the workers, and their order.
func TestLayoutsAreForeseen(t *testing.T) {
	m, err := speed.Fit(context.Background(), layoutRows(), speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	inside, n := 0, 0
	for _, workers := range []int{8, 16, 32} {
		for _, l := range [][2]int{{1, 2}, {4, 1}, {4, 2}, {2, 4}} {
			r := layoutRow(workers, l[0], l[1], 2, 64, "")
			p, err := m.Predict(r.Config)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if p.StepTime.Lo <= r.StepTime && r.StepTime <= p.StepTime.Hi {
				inside++
			}
			if off := math.Abs(p.StepTime.Mean/r.StepTime - 1); off > .25 {
				t.Errorf("%s: predicted %.3g s, is %.3g", r.Config, p.StepTime.Mean, r.StepTime)
			}
		}
	}
	if inside < n*3/4 {
		t.Errorf("%d of %d inside their 90 %% intervals", inside, n)
	}
}

// Matrices of one shape, of four samples over two ranks, happen to be fast. They are so
// with other replicas and stages too.
func TestFastShapesStayFast(t *testing.T) {
	row := func(workers, tp, pp int, batch float64) data.Measurement {
		r := layoutRow(workers, tp, pp, batch, 64, "")
		if tp == 2 && batch == 4 {
			r.StepTime *= .8
		}
		return r
	}
	var rows []data.Measurement
	for _, batch := range []float64{1, 2, 4, 8} {
		rows = append(rows, row(4, 1, 1, batch), row(4, 2, 1, batch), row(4, 2, 2, batch))
	}
	m, err := speed.Fit(context.Background(), rows, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []data.Measurement{row(8, 2, 1, 4), row(8, 2, 4, 4), row(8, 2, 2, 4), row(8, 2, 2, 2)} {
		p, err := m.Predict(r.Config)
		if off := p.StepTime.Mean/r.StepTime - 1; err != nil || math.Abs(off) > .1 {
			t.Errorf("%s: predicted %.3g s, is %.3g (%v)", r.Config, p.StepTime.Mean, r.StepTime, err)
		}
	}
}

// A small model on processors, orders of magnitude slower than GPUs, is
// predicted as well with its size as without.
func TestLayoutsOnProcessors(t *testing.T) {
	rows := layoutRows()
	for i := range rows {
		rows[i].GPUType, rows[i].Architecture = "cpu", data.Architecture{Layers: 8, Hidden: 128, Heads: 8, SeqLen: 32, Vocab: 256}
	}
	m, err := speed.Fit(context.Background(), rows, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range [][2]int{{1, 2}, {4, 1}, {4, 2}} {
		r := layoutRow(8, l[0], l[1], 2, 64, "")
		r.GPUType = "cpu"
		p, err := m.Predict(r.Config)
		if off := math.Abs(p.StepTime.Mean/r.StepTime - 1); err != nil || off > .25 {
			t.Errorf("%s: predicted %.3g s, is %.3g (%v)", r.Config, p.StepTime.Mean, r.StepTime, err)
		}
	}
}

// A model read from its file predicts the same, with its size.
func TestLayoutsSurviveTheFile(t *testing.T) {
	rows := layoutRows()
	for i := range rows {
		rows[i].Architecture = data.Architecture{Layers: 32, Hidden: 4096, SeqLen: 2048}
	}
	m, err := speed.Fit(context.Background(), rows, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := speed.Restore(text, "gpt", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		a, _ := m.StepTime(r.Config)
		b, err := again.StepTime(r.Config)
		if err != nil || math.Abs(a/b-1) > 1e-9 {
			t.Errorf("%s: %g s, read back %g, %v", r.Config, a, b, err)
		}
	}
}

// A model of twice the layers takes about twice as long, with a wider interval
// than measured sizes.
func TestAnotherSize(t *testing.T) {
	rows := layoutRows()
	for i := range rows {
		rows[i].Architecture = data.Architecture{Layers: 24, Hidden: 2048, SeqLen: 2048}
	}
	m, err := speed.Fit(context.Background(), rows, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	large := m.For(data.Architecture{Layers: 48, Hidden: 2048, SeqLen: 2048})
	for _, r := range rows {
		a, err := m.Predict(r.Config)
		if err != nil {
			t.Fatal(err)
		}
		b, err := large.Predict(r.Config)
		if err != nil {
			t.Fatal(err)
		}
		if ratio := b.StepTime.Mean / a.StepTime.Mean; ratio < 1.6 || ratio > 2.2 {
			t.Errorf("%s: twice the layers take %.2f times as long", r.Config, ratio)
		}
		if b.StepTime.Hi/b.StepTime.Lo <= a.StepTime.Hi/a.StepTime.Lo {
			t.Errorf("%s: interval of a size never measured %v, of the one measured %v", r.Config, b.StepTime, a.StepTime)
		}
	}
}

// Attention scores that are written to memory take longer than their operations, and grow
// with the square of the sequence; whether they are, two lengths tell.
func TestLongerSequences(t *testing.T) {
	for _, kept := range []float64{0, 2} {
		row := func(base data.Measurement, tokens int) data.Measurement {
			base.Architecture = data.Architecture{Layers: 32, Hidden: 2560, Heads: 32, SeqLen: tokens}
			a := base.Architecture
			ofLength := func(s float64) float64 { return s*1e10 + 32*32*s*s*1536*kept + 12*32*2560*s*s }
			base.StepTime = layoutTime(base.Config) * ofLength(float64(a.SeqLen)) / ofLength(2048)
			return base
		}
		var rows []data.Measurement
		for i, r := range layoutRows() {
			rows = append(rows, row(r, 2048<<(i%2)))
		}
		m, err := speed.Fit(context.Background(), rows, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 3} { // without tensors to send
			r := layoutRows()[i]
			truth := row(r, 16384)
			p, err := m.For(truth.Architecture).Predict(r.Config)
			if e := truth.StepTime; err != nil || e < p.StepTime.Lo || e > p.StepTime.Hi || math.Abs(p.StepTime.Mean/e-1) > .35 {
				t.Errorf("scores kept %g: %s, 16384 tokens: %v s, %v; want %.3g", kept, r.Config, p.StepTime, err, e)
			}
		}
	}
}

// If some rows do not give their layout, all are ignored, with a warning.
func TestUnknownLayouts(t *testing.T) {
	ms, _, err := data.ReadMeasurements(strings.NewReader("job,workers,tp,pp,global_batch,step_time_s\ngpt,8,,,64,1\ngpt,16,4,2,64,.6\ngpt,32,4,2,64,.4\n"), "m.csv")
	if err != nil {
		t.Fatal(err)
	}
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(m.Warnings(), "\n"); !strings.Contains(w, "1 of 3 measurements do not say their layout") {
		t.Errorf("warnings: %s", w)
	}
	if _, err := m.Predict(ms[1].Config); err != nil {
		t.Error(err)
	}
}

func TestLayoutRefusals(t *testing.T) {
	plain, err := speed.Fit(context.Background(), []data.Measurement{{Config: data.Config{Job: "j", GPUType: "a100", Workers: 4, LocalBatch: 8}, Status: data.OK, StepTime: 1}}, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plain.Predict(data.Config{Workers: 4, LocalBatch: 8, Layout: data.Layout{TP: 2}})
	if err == nil || !strings.Contains(err.Error(), "no other layout was measured") {
		t.Errorf("a layout where none was measured: %v", err)
	}
	_, err = speed.Fit(context.Background(), layoutRows(), speed.Settings{Family: "usl"})
	if err == nil || !strings.Contains(err.Error(), "measurements with layouts") {
		t.Errorf("a published family for layouts: %v", err)
	}
}
