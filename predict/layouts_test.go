package predict_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

// gptTime simulates nodes of eight GPUs with a pipeline and slow tensor
// communication between nodes.
func gptTime(c data.Config) float64 {
	t, p, d, m := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(c.Replicas()), float64(c.AccumSteps+1)
	stage := .02 * c.LocalBatch / t
	if t > 1 {
		stage += .004 * c.LocalBatch * (t - 1) / t
	}
	return (m+p-1)*(stage+.001)/p + .05*(d-1)/d/(t*p)
}

// gptMemory is the memory of a layout, bytes.
func gptMemory(c data.Config) float64 {
	t, p, m := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(c.AccumSteps+1)
	return 1e9 + 60e9/(t*p) + 4e9*c.LocalBatch/t/p*math.Min(m, p)
}

func gpt(workers, tp, pp int, batch float64) data.Measurement {
	c := data.Config{Job: "gpt", GPUType: "a100", Workers: workers, Nodes: (workers + 7) / 8, LocalBatch: batch, Layout: data.Layout{TP: tp, PP: pp}}
	c.AccumSteps = int(64/(float64(c.Replicas())*batch)) - 1
	m := data.Measurement{Config: c, Status: data.OK, StepTime: gptTime(c), PeakMemory: gptMemory(c), GPUMemory: 40 << 30}
	if m.PeakMemory > m.GPUMemory {
		m.Status, m.StepTime, m.PeakMemory = data.OOM, 0, 0
	}
	return m
}

func gptModel(t *testing.T) *fit.Model {
	t.Helper()
	var ms []data.Measurement
	for _, l := range [][3]int{{1, 1, 1}, {2, 1, 1}, {2, 1, 2}, {4, 1, 2}, {8, 1, 1}, {1, 4, 1}, {2, 2, 1}, {1, 8, 2}, {4, 2, 4}, {2, 4, 1}} {
		ms = append(ms, gpt(8, l[0], l[1], float64(l[2])))
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// After ten runs on eight GPUs the layout chosen is nearly the best of all
// that fit, on eight and on sixteen.
func TestLayoutsChooseWell(t *testing.T) {
	p := &predict.Predictor{Model: gptModel(t)}
	for _, workers := range []int{8, 16} {
		all, err := p.Layouts(predict.LayoutQuestion{GPUType: "a100", Workers: workers, GlobalBatch: 64})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, tp := range []int{1, 2, 4, 8} {
			for pp := 1; pp*tp <= workers; pp *= 2 {
				for b := 1.; b <= 8 && b*float64(workers/(tp*pp)) <= 64; b *= 2 {
					if m := gpt(workers, tp, pp, b); m.Status == data.OK {
						best = min(best, m.StepTime)
					}
				}
			}
		}
		chosen := all[0].Config
		if need := gptMemory(chosen); need > 40<<30 {
			t.Errorf("%s needs %.0f bytes", chosen, need)
		}
		if got := gptTime(chosen); got > 1.1*best {
			t.Errorf("%d workers: chose %s with %.3g s, the best takes %.3g", workers, chosen, got, best)
		}
		for _, a := range all[1:] {
			if a.Loses == "" {
				t.Errorf("%s does not say where it loses", a.Config)
			}
		}
	}
}

// BestBatch returns the best layout at the given placement.
func TestBestBatchChoosesALayout(t *testing.T) {
	p := &predict.Predictor{Model: gptModel(t), Batch: data.Batch{Initial: 64}}
	a, err := p.BestBatch(data.Config{GPUType: "a100", Placement: data.Placement{8, 8}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Config.Plain() || a.Config.GlobalBatch() != 64 || a.Config.Placement.String() != "8-8" || a.Memory.Fits < .9 {
		t.Errorf("%s, fits with %.2f", a.Config, a.Memory.Fits)
	}
}

// Parameter servers, measured on the same GPUs as layouts, have none.
func TestParameterServersBesideLayouts(t *testing.T) {
	var ms []data.Measurement
	for _, tp := range []int{1, 2, 4} {
		ms = append(ms, gpt(8, tp, 1, 1))
	}
	for _, k := range []int{1, 2, 4} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "gpt", GPUType: "a100", Mode: data.PSSync, Workers: k, PS: 1, LocalBatch: 64 / float64(k)},
			Status: data.OK, StepTime: .1 + 1/float64(k)})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&predict.Predictor{Model: m}).BestBatch(data.Config{GPUType: "a100", Mode: data.PSSync, Workers: 2, PS: 1})
	if err != nil || a.Config.Mode != data.PSSync || a.Config.PS != 1 || !a.Config.Plain() {
		t.Errorf("%s, error %v", a.Config, err)
	}
}

// Layouts are chosen among what was measured too: degrees of context parallelism, and
// up to twice as many; micro-batches that are no powers of two; not tensor parallelism
// that does not divide the heads, unless it was measured.
func TestMeasuredLayoutsAreCandidates(t *testing.T) {
	var ms []data.Measurement
	for _, l := range []struct {
		tp, cp int
		batch  float64
	}{{1, 1, 6}, {1, 2, 6}, {2, 1, 3}, {2, 2, 6}, {2, 1, 12}} {
		c := data.Config{Job: "gpt", GPUType: "a100", Workers: 8, Nodes: 1, LocalBatch: l.batch, Layout: data.Layout{TP: l.tp, CP: l.cp, Sharding: "zero1"}}
		c.AccumSteps = 96/(c.Replicas()*int(l.batch)) - 1
		a := data.Architecture{Layers: 12, Hidden: 768, Heads: 12, SeqLen: 1024, Vocab: 50257}
		ms = append(ms, data.Measurement{Config: c, StepTime: 1 + .1*float64(l.tp) + .1*float64(l.cp), Status: data.OK})
		ms[len(ms)-1].Architecture = a
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&predict.Predictor{Model: m}).Layouts(predict.LayoutQuestion{GPUType: "a100", Workers: 8, GlobalBatch: 96})
	if err != nil {
		t.Fatal(err)
	}
	var tps, cps, micros []int
	for _, l := range all {
		tps, cps, micros = append(tps, max(l.Config.TP, 1)), append(cps, max(l.Config.CP, 1)), append(micros, int(l.Config.LocalBatch))
	}
	for name, of := range map[string]struct{ got, want []int }{"tp": {tps, []int{1, 2, 4}}, "cp": {cps, []int{1, 2, 4}}, "micro-batch": {micros, []int{1, 2, 3, 4, 6, 8, 12, 16}}} {
		slices.Sort(of.got)
		if got := slices.Compact(of.got); !slices.Equal(got, of.want) {
			t.Errorf("%s of %v, want %v", name, got, of.want)
		}
	}
}

// Sharding, recomputation and offloading that were measured one at a time are also offered
// together, but no word that was never measured.
func TestWordsMeasuredOneAtATimeAreCombined(t *testing.T) {
	var ms []data.Measurement
	for i, l := range []data.Layout{{Recompute: "full"}, {}, {Sharding: "zero1", Recompute: "full"}, {Recompute: "full", Offload: "optimizer"}, {TP: 2, Recompute: "full"}} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "gpt", GPUType: "a100", Workers: 8, Nodes: 1, LocalBatch: 1, AccumSteps: 64/(8/max(l.TP, 1)) - 1, Layout: l},
			Status: data.OK, StepTime: 1 + .1*float64(i)})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&predict.Predictor{Model: m}).Layouts(predict.LayoutQuestion{GPUType: "a100", Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	words := map[data.Layout]bool{}
	for _, l := range all {
		words[data.Layout{Sharding: l.Config.Sharding, Recompute: l.Config.Recompute, Offload: l.Config.Offload}] = true
	}
	for _, sharding := range []string{"", "zero1"} {
		for _, recompute := range []string{"", "full"} {
			for _, offload := range []string{"", "optimizer"} {
				if l := (data.Layout{Sharding: sharding, Recompute: recompute, Offload: offload}); !words[l] {
					t.Errorf("no layout has %q", l)
				}
			}
		}
	}
	if len(words) != 8 {
		t.Errorf("%d combinations of two measured words each: %v", len(words), words)
	}
}

func TestNoLayoutFits(t *testing.T) {
	p := &predict.Predictor{Model: gptModel(t)}
	_, err := p.Layouts(predict.LayoutQuestion{GPUType: "a100", Workers: 1, GlobalBatch: 64})
	var none *predict.NoLayoutError
	if !errors.As(err, &none) || none.Nearest.Memory.Fits > .1 {
		t.Errorf("one GPU for 60 GB of state: %v", err)
	}
	_, err = p.Layouts(predict.LayoutQuestion{GPUType: "a100", Workers: 8, GlobalBatch: 7.5})
	var in *data.InputError
	if !errors.As(err, &in) {
		t.Errorf("a batch that nothing divides: %v", err)
	}
}

// Without measurements, the size of a model determines that it does not fit
// without sharding, that it fits with it, and that fitting layouts need not
// recompute everything. The order is by P(fits) / time.
func TestUnmeasuredLayouts(t *testing.T) {
	stages := 0
	llama := data.Architecture{Parameters: 70e9, Layers: 80, Hidden: 8192, Heads: 64, SeqLen: 4096, Vocab: 128256}
	unmeasured := func(a data.Architecture, workers int, batch float64) []predict.LayoutAnswer {
		all, err := predict.UnmeasuredLayouts(a, "h100", workers, 8, batch)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	large := unmeasured(llama, 64, 512)
	plain := slices.IndexFunc(large, func(a predict.LayoutAnswer) bool { return a.Config.Plain() })
	if plain < 0 || large[plain].Memory.Fits > .01 {
		t.Fatalf("70 billion parameters on every GPU: %+v", large[plain].Memory)
	}
	if best := large[0]; best.Memory.Fits < .5 || best.Config.Plain() {
		t.Errorf("the first, %s, fits with %.2f", best.Config, best.Memory.Fits)
	}
	small := unmeasured(data.Architecture{Parameters: 1e9, Layers: 16, Hidden: 2048, Heads: 16, SeqLen: 2048, Vocab: 32000}, 8, 64)
	if c := small[0].Config; c.ModelParallel() > 1 || c.Recompute == "full" {
		t.Errorf("a billion parameters on 8 GPUs: first %s", c)
	}
	// Twelve heads cannot be divided among eight workers; 24 GPUs hold three stages.
	for _, a := range unmeasured(data.Architecture{Parameters: 2e8, Layers: 12, Hidden: 768, Heads: 12, SeqLen: 1024, Vocab: 50257}, 24, 48) {
		if a.Config.TP == 8 {
			t.Fatalf("12 heads: %s", a.Config)
		}
		if a.Config.PP == 3 {
			stages++
		}
		if c := a.Config; c.PP > 1 && (12%c.PP != 0 || c.Sharding == "zero3" || c.Sharding == "hybrid") {
			t.Errorf("12 layers: %s", c)
		}
	}
	if stages == 0 {
		t.Error("no layout of 24 GPUs has 3 stages")
	}
	if _, err := predict.UnmeasuredLayouts(llama, "h100", 7, 8, 512); err == nil || !strings.Contains(err.Error(), "such as 518") {
		t.Errorf("512 samples on 7 GPUs: %v", err)
	}
	// Of 131,072 tokens the activations fit where context is divided.
	long := llama
	long.Parameters, long.Layers, long.Hidden, long.Heads, long.SeqLen = 7e9, 32, 4096, 32, 131072
	if a := unmeasured(long, 32, 32)[0]; a.Config.CP < 2 || a.Memory.Fits < .5 {
		t.Errorf("long sequences: the first, %s, fits with %.2f", a.Config, a.Memory.Fits)
	}
	for _, all := range [][]predict.LayoutAnswer{large, small} {
		alone := map[string]bool{}
		for i, a := range all {
			if before := all[max(i-1, 0)]; before.Memory.Fits/before.Expected < a.Memory.Fits/a.Expected {
				t.Fatalf("%s (%.2f, %.3g) comes before %s (%.2f, %.3g)", before.Config, before.Memory.Fits, before.Expected, a.Config, a.Memory.Fits, a.Expected)
			}
			if (a.Loses == "") != (i == 0) {
				t.Fatalf("%d: %s loses by %q", i, a.Config, a.Loses)
			}
			if c := a.Config; c.Replicas() == 1 { // sharding over one replica is none
				c.Sharding = ""
				if alone[c.Key()] {
					t.Fatalf("%s is listed twice", a.Config)
				}
				alone[c.Key()] = true
			}
		}
	}
}

// Expert parallelism takes the divisors of the number of experts.
func TestUnmeasuredExperts(t *testing.T) {
	moe := data.Architecture{Layers: 32, Hidden: 4096, Heads: 32, SeqLen: 2048, Vocab: 32000, Experts: 6}
	degrees := map[int]float64{}
	all, err := predict.UnmeasuredLayouts(moe, "h100", 48, 8, 480)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		degrees[a.Config.EP] = max(degrees[a.Config.EP], a.Memory.Fits)
	}
	if len(degrees) != 4 || !(degrees[6] > degrees[0]) {
		t.Errorf("probabilities to fit by ep %v; want 1 (0), 2, 3 and 6, the last larger than the first", degrees)
	}
}
