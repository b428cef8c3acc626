package plots

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

const searchedStudy = `job: demo
command: [true]
space:
  gpu_type: [a100]
  workers: [1, 2, 4, 8, 16]
  local_batch: [16, 32, 64, 128]
objective: {maximize: throughput}
metrics: {jsonl: true}
launcher: {local: {}}
`

// A search for goodput knows what a sample is worth at a batch.
func TestSearchPredictionInGoodput(t *testing.T) {
	study, err := data.ReadStudy(strings.NewReader(strings.Replace(searchedStudy, "throughput}", "goodput}\nbatch: {initial: 32}", 1)), "study.yaml")
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
		s, err := surrogateOf(study, []data.Measurement{m}, curves, "workers")
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{256, 256 * 2080. / 2304}[i]
		if len(s.Points) != 1 || math.Abs(s.Points[0].Y-want) > 1e-6 || s.Objective != "goodput (samples/s)" {
			t.Errorf("with %d points of a curve 256 samples/s are %+v in %s, want %g", len(curves), s.Points, s.Objective, want)
		}
	}
}

func TestSurrogate(t *testing.T) {
	next := 4.0
	s := surrogate{Title: "Prediction", Knob: "workers", Objective: "throughput (samples/s)", Next: &next,
		Prediction: []Band{{X: 1, Mean: 10, Lo: 9, Hi: 11}, {X: 4, Mean: 1000, Lo: 20, Hi: 1400}},
		Points:     []Point{{X: 1, Y: 10}, {X: 4, Status: data.OOM}}, Gain: []Band{{X: 1}, {X: 4, Mean: 5}}}
	fig, err := s.draw()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var a, b bytes.Buffer
		if err := Render(&a, format, fig); err != nil {
			t.Fatal(err)
		}
		if err := Render(&b, format, fig); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two drawings of one figure differ (%v)", format, err)
		}
	}
	none := s
	none.Prediction = nil
	wild := s
	wild.Gain = []Band{{X: 1, Mean: math.NaN()}}
	for want, s := range map[string]surrogate{"prediction": none, "gain": wild} {
		if _, err := s.draw(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

// An axis is marked at the values of the knob where their labels have room, else at
// round numbers.
func TestKnobValuesMarkTheirAxis(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   []string
	}{
		{[]float64{0.01, 0.1, 1}, []string{"0.01", "0.1", "1"}},
		{[]float64{0, 2, 8}, []string{"0", "2", "8"}},
		{[]float64{0, 0.1, 8}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}},
	} {
		s := surrogate{Knob: "ratio", Objective: "throughput (samples/s)"}
		for _, v := range tt.values {
			s.Prediction, s.Gain = append(s.Prediction, Band{v, 10, 9, 11, false}), append(s.Gain, Band{X: v})
		}
		fig, err := s.draw()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range fig.Charts {
			var got []string
			for _, tick := range c.Plot.X.Tick.Marker.Ticks(c.Plot.X.Min, c.Plot.X.Max) {
				got = append(got, tick.Label)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v are marked %q, want %q", tt.values, got, tt.want)
			}
		}
	}
}
