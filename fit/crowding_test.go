package fit_test

import (
	"math"
	"testing"

	"knee/data"
	"knee/fit"
)

// Workers that compute on the cores of one node slow each other. From up to
// four of them it must be seen that eight are slower still. Where each has a
// device, the same times are put down to something that soon levels off.
func TestWorkersWithoutADeviceCrowdTheirNode(t *testing.T) {
	truth := &fit.Collective{Fixed: .004, PerBatch: .02, RefBatch: 32, BatchPower: .95, Crowding: .2,
		Intra: .002, Inter: .01, TwoNodes: 1, Overlap: 1.5}
	at := func(gpu string, workers int, batch float64) data.Measurement {
		m := data.Measurement{Config: data.Config{Job: "a", GPUType: gpu, Mode: data.AllReduce, Workers: workers, LocalBatch: batch}, Status: data.OK}
		m.StepTime = truth.StepTime(m.Config)
		alone := m.Config
		alone.Workers = 1
		if workers > 1 {
			compute := truth.StepTime(alone) * (1 + truth.Crowding*float64(workers-1))
			m.SyncTime = m.StepTime - compute
		}
		return m
	}
	off := func(gpu string) float64 {
		var ms []data.Measurement
		for _, workers := range []int{1, 2, 3, 4} {
			for _, batch := range []float64{16, 64} {
				ms = append(ms, at(gpu, workers, batch))
			}
		}
		m, err := fit.Fit(ms, fit.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		far := at(gpu, 8, 32)
		p, err := m.Predict(far.Config)
		if err != nil {
			t.Fatal(err)
		}
		return math.Log(p.StepTime.Mean / far.StepTime)
	}
	if d := off("cpu"); math.Abs(d) > .05 {
		t.Errorf("eight workers on one node are predicted %+.0f %% off", 100*math.Expm1(d))
	}
	if d := off("t4"); d > -.1 {
		t.Errorf("with a device each they are predicted %+.0f %% off, want much too fast: such devices do not crowd", 100*math.Expm1(d))
	}
}
