package plots

import (
	"math"
	"testing"

	"knee/data"
	"knee/fit"
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
		s, err := ModelSeries(&predict.Predictor{Model: m}, ms[0].Config, []int{1, 2, 4}, Throughput)
		if err != nil {
			t.Fatal(err)
		}
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
