package speed_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/speed"
)

// Central is near the predicted medians, where there are measurements.
func TestCentralIsNearTheMedian(t *testing.T) {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8} {
		for _, b := range []float64{16, 32, 64} {
			ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: k, Nodes: (k + 3) / 4, LocalBatch: b},
				Status: data.OK, StepTime: .01 + .002*b + .004*math.Log2(float64(k))})
		}
	}
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var cs []data.Config
	for _, r := range ms {
		cs = append(cs, r.Config)
	}
	var quick []float64
	for i, c := range cs {
		central, err := m.Central(c, []speed.Batch{{Local: c.LocalBatch}, {Local: cs[0].LocalBatch}})
		if err != nil {
			t.Fatal(err)
		}
		if quick = append(quick, central[0]); i == 0 && central[1] != central[0] {
			t.Errorf("one batch takes %g and %g s", central[0], central[1])
		}
	}
	all, err := m.PredictAll(cs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cs {
		if math.Abs(math.Log(quick[i]/all[i].Median)) > .02 {
			t.Errorf("%s: %.4g s at the mode, median %.4g", cs[i], quick[i], all[i].Median)
		}
	}
	if _, err := m.Central(data.Config{Workers: 0}, []speed.Batch{{Local: 8}}); err == nil {
		t.Error("no workers, no error")
	}
	draws, process, run, err := m.Draws(cs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cs {
		if mean := stat.Mean(draws[i], nil); math.Abs(mean-math.Log(all[i].Median)) > .02 || !(process[i] > 0) || !(run[i] > 0) {
			t.Errorf("%s: draws of mean e^%.3g, variances %.2g and %.2g, median %.4g", cs[i], mean, process[i], run[i], all[i].Median)
		}
	}
	if _, _, _, err := m.Draws([]data.Config{{Workers: 0}}); err == nil {
		t.Error("draws of no workers, no error")
	}
}
