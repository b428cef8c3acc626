package plots

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/data"
)

const surfaceStudy = `job: demo
command: [true]
space:
  gpu_type: [a100]
  workers: [1, 2, 4, 8, 16]
  local_batch: [16, 32, 64, 128]
objective: {maximize: throughput}
metrics: {jsonl: true}
launcher: {local: {}}
`

// Where a law of speed holds, the surface is close to it away from the trials
// too, and agrees with what the search says on the line through the best.
func TestSurfaceFollowsTheLawAndTheSearch(t *testing.T) {
	study, err := data.ReadStudy(strings.NewReader(surfaceStudy), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	step := func(w, b float64) float64 { return 0.02 + b/900 + 0.004*w }
	s, err := NewBelief(study, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ms []data.Measurement
	for _, c := range s.history.Candidates {
		switch [2]float64{float64(c.Workers), c.LocalBatch} {
		case [2]float64{1, 16}, [2]float64{4, 32}, [2]float64{8, 16}, [2]float64{16, 64}, [2]float64{2, 128}, [2]float64{8, 64}, [2]float64{1, 64}:
			ms = append(ms, data.Measurement{Config: c, StepTime: step(float64(c.Workers), c.LocalBatch), Status: data.OK})
		}
	}
	if s, err = NewBelief(study, ms, nil); err != nil {
		t.Fatal(err)
	}
	across, err := s.guided.Slice(s.history, "workers")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.surrogate(across.Through)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.history.Candidates {
		want := float64(c.Workers) * c.LocalBatch / step(float64(c.Workers), c.LocalBatch)
		if got := b.cell(c).Mean; math.Abs(got/want-1) > 0.25 {
			t.Errorf("%s: %g samples/s are believed, %g true", c, got, want)
		}
	}
	for _, p := range across.Points {
		if got := b.cell(s.history.Candidates[p.Index]).Mean; math.Abs(got/p.Expected.Mean-1) > 0.15 {
			t.Errorf("at %g workers the surface says %g, the search %g", p.Value, got, p.Expected.Mean)
		}
	}
}

// A search for goodput knows what a sample is worth at a batch.
func TestBeliefInGoodput(t *testing.T) {
	study, err := data.ReadStudy(strings.NewReader(strings.Replace(surfaceStudy, "throughput}", "goodput}\nbatch: {initial: 32}", 1)), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var curve []data.CurvePoint
	for i := range 40 {
		curve = append(curve, data.CurvePoint{Step: float64(i + 1), Loss: 1, GlobalBatch: 32, GradSqr: 1, GradVar: 64})
	}
	m := data.Measurement{Config: data.Config{Job: "demo", GPUType: "a100", Mode: data.AllReduce, Workers: 8, LocalBatch: 32}, StepTime: 1, Status: data.OK}
	// A noise scale of 32 · 64 / 1 samples: 256 at once are worth
	// (2048 + 32)/(2048 + 256) of as many in batches of 32.
	for i, curves := range [][]data.CurvePoint{nil, curve} {
		b, err := NewBelief(study, []data.Measurement{m}, curves)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := b.guided.Value(m)
		want := []float64{256, 256 * 2080. / 2304}[i]
		if !ok || math.Abs(v-want) > 1e-6 {
			t.Errorf("with %d points of a curve 256 samples/s are worth %g, want %g", len(curves), v, want)
		}
	}
}

func TestKnobs(t *testing.T) {
	study, err := data.ReadStudy(strings.NewReader(surfaceStudy), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBelief(study, []data.Measurement{{Config: data.Config{Job: "demo", GPUType: "a100", Mode: data.AllReduce, Workers: 2, LocalBatch: 32}, StepTime: 0.1, Status: data.OK}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.Knobs(), " "); got != "workers local_batch" {
		t.Errorf("the knobs are %q", got)
	}
	if _, err := b.Over("workers", "precision"); err == nil || !strings.Contains(err.Error(), "precision") {
		t.Errorf("an unknown knob gives %v", err)
	}
}

func TestJoined(t *testing.T) {
	shared := data.Config{Workers: 4, Nodes: 1, PS: 1, LocalBatch: 32, Extra: map[string]string{"precision": "16", "threads": "2"}}
	a, b := shared, shared
	a.Workers = 8
	b.LocalBatch, b.Extra = 64, map[string]string{"precision": "16", "threads": "4"}
	got := joined(shared, a, b)
	want := "8 workers, 1 ps, batch 64, threads 4, precision 16"
	if s := fmt.Sprintf("%d workers, %d ps, batch %g, threads %s, precision %s", got.Workers, got.PS, got.LocalBatch, got.Extra["threads"], got.Extra["precision"]); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if shared.Extra["threads"] != "2" {
		t.Error("the shared configuration was changed")
	}
}
