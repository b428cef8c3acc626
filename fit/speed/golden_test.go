package speed

import (
	"math"
	"testing"

	"knee/data"
	"knee/fit/speed/form"
)

// Golden numbers of the Optimus paper (EuroSys'18, table 2 and figure 9,
// ResNet-50): speeds in steps/s of the published coefficients, M = 40.
func TestOptimusGoldenSpeeds(t *testing.T) {
	sync := form.OptimusSync([5]float64{1.02, 2.78, 4.92, 0, .02}, 40)
	async := form.OptimusAsync([4]float64{2.83, 3.92, 0, .11})
	tests := []struct {
		timer       form.StepTimer
		mode        data.Mode
		ps, workers int
		want        float64 // steps/s
		digits      float64
	}{
		{sync, data.PSSync, 18, 10, .1005, 5e-5},
		{sync, data.PSSync, 6, 6, .0684, 5e-5},
		{async, data.PSAsync, 18, 20, 2.18, 5e-3},
		{async, data.PSAsync, 6, 20, 1.21, 5e-3},
	}
	for _, tt := range tests {
		c := data.Config{Mode: tt.mode, PS: tt.ps, Workers: tt.workers, LocalBatch: 40 / float64(tt.workers)}
		if got := 1 / tt.timer.StepTime(c); math.Abs(got-tt.want) > tt.digits {
			t.Errorf("%s p=%d k=%d: %.5f steps/s, want %v", tt.mode, tt.ps, tt.workers, got, tt.want)
		}
	}
}

// generate measures a form.StepTimer over a grid of servers and workers.
func generate(timer form.StepTimer, mode data.Mode, ks, ps []int, global float64) []data.Measurement {
	var ms []data.Measurement
	for _, k := range ks {
		for _, p := range ps {
			c := data.Config{Job: "resnet-50", GPUType: "cpu", Mode: mode, Workers: k, PS: p, LocalBatch: global / float64(k)}
			ms = append(ms, data.Measurement{Config: c, StepTime: timer.StepTime(c), Status: data.OK})
		}
	}
	return ms
}

// Fits to exact points of the published coefficients recover them.
func TestOptimusRecoversCoefficients(t *testing.T) {
	ks, ps := []int{1, 2, 4, 8, 16}, []int{1, 3, 9, 18}
	sync := form.OptimusSync([5]float64{1.02, 2.78, 4.92, 0, .02}, 40)
	async := form.OptimusAsync([4]float64{2.83, 3.92, 0, .11})
	check := func(family string, mode data.Mode, timer form.StepTimer, want []float64) {
		m, err := fitAll(generate(timer, mode, ks, ps, 40), Settings{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		_, params := m.Parameters("cpu", mode)
		for i, p := range params {
			if math.Abs(p.Value.Mean-want[i]) > .02*(want[i]+.1) {
				t.Errorf("%s %s = %g, want %g", family, p.Name, p.Value.Mean, want[i])
			}
		}
	}
	check("optimus-sync", data.PSSync, sync, sync.Theta[:])
	check("optimus-async", data.PSAsync, async, async.Theta[:])
}

// Every family that describes a mode must come close to data made by any
// plausible truth of its own kind.
func TestFamiliesFitTheirOwnTruth(t *testing.T) {
	ks := []int{1, 2, 4, 8, 16}
	tests := []struct {
		family string
		mode   data.Mode
		timer  form.StepTimer
		tol    float64
	}{
		{"pollux", data.AllReduce, &form.Pollux{AlphaCompute: .02, BetaCompute: .001, AlphaInter: .1, BetaInter: .002, AlphaIntra: .03, BetaIntra: .001, Gamma: 2}, .01},
		{"usl", data.AllReduce, &form.USL{Alpha: .02, Beta: .001, Sigma: .05, Kappa: .001}, .01},
		{"amdahl", data.AllReduce, &form.USL{Alpha: .02, Beta: .001, Sigma: .05}, .01},
		{"collective", data.AllReduce, &form.Collective{Fixed: .05, PerBatch: .1, RefBatch: 32, Intra: .03, Power: .3, Inter: .05, Tree: 1, Overlap: 2}, .02},
		{"ps", data.PSSync, &form.ParameterServer{Fixed: .5, Compute: 2, RefGlobal: 40, Transfer: 3, WorkersPower: .8, ServersPower: .7, PerWorker: .01, PerServer: .02}, .04},
		{"ps", data.PSAsync, &form.ParameterServer{Fixed: .5, Compute: 2, RefGlobal: 40, Transfer: 3, WorkersPower: .8, ServersPower: .7, PerWorker: .01, PerServer: .02, Async: true}, .04},
	}
	for _, tt := range tests {
		t.Run(tt.family+"/"+string(tt.mode), func(t *testing.T) {
			var ms []data.Measurement
			for _, k := range ks {
				for _, b := range []float64{16, 32, 64} {
					for _, p := range []int{1, 4} {
						c := data.Config{GPUType: "t4", Mode: tt.mode, Workers: k, LocalBatch: b, PS: p, Placement: data.EvenPlacement(k, (k+3)/4)}
						ms = append(ms, data.Measurement{Config: c, StepTime: tt.timer.StepTime(c), Status: data.OK})
					}
				}
			}
			m, err := fitAll(ms, Settings{Family: tt.family})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range ms {
				if got := m.Timer("t4", tt.mode).StepTime(r.Config); math.Abs(got/r.StepTime-1) > 3*tt.tol {
					t.Errorf("%v: form says %g, want %g", r.Config, got, r.StepTime)
				}
				if got, _ := m.StepTime(r.Config); math.Abs(got/r.StepTime-1) > tt.tol+.01 {
					t.Errorf("%v: model says %g, want %g", r.Config, got, r.StepTime)
				}
			}
		})
	}
}

// Between nodes k workers are a ring, 2(k−1)/k.
func TestCollectiveFollowsTheLinks(t *testing.T) {
	c := &form.Collective{Fixed: 1e-9, PerBatch: 1e-9, RefBatch: 32, Intra: 1e-9, Inter: .4, Tree: 1, Overlap: 1}
	for _, tt := range []struct {
		workers, nodes int
		want           float64
	}{{2, 2, .4}, {8, 2, .7}, {4, 4, .6}, {64, 16, .7875}} {
		got := c.StepTime(data.Config{Workers: tt.workers, Nodes: tt.nodes, LocalBatch: 32})
		if math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%d workers on %d nodes: %.6f s, want %v", tt.workers, tt.nodes, got, tt.want)
		}
	}
}

// A job that communicates only after computing is fitted as such: its overlap may
// be none, and what it costs to synchronise more workers is inside the interval.
func TestNoOverlap(t *testing.T) {
	truth := &form.Collective{Fixed: .02, PerBatch: .1, RefBatch: 32, Intra: .04, Inter: .06, Power: .1, Tree: 1, Overlap: 1}
	at := func(k int, b float64) data.Config {
		return data.Config{Job: "j", GPUType: "t4", Workers: k, Nodes: (k + 3) / 4, LocalBatch: b}
	}
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8} {
		for _, b := range []float64{16, 32, 64} {
			ms = append(ms, data.Measurement{Config: at(k, b), StepTime: truth.StepTime(at(k, b)), Status: data.OK})
		}
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, params := m.Parameters("t4", data.AllReduce)
	for _, p := range params {
		if p.Name == "overlap" && p.Value.Lo > 1.1 {
			t.Errorf("overlap from %.2f to %.2f, want 1 to be possible", p.Value.Lo, p.Value.Hi)
		}
	}
	for _, k := range []int{16, 64} {
		p, err := m.Predict(at(k, 32))
		want := truth.StepTime(at(k, 32))
		t.Logf("%d workers: %.4f s, from %.4f to %.4f, in truth %.4f", k, p.StepTime.Mean, p.StepTime.Lo, p.StepTime.Hi, want)
		if err != nil || p.StepTime.Lo > want || p.StepTime.Hi < want {
			t.Errorf("%d workers: %+v, want %.4g s inside; error %v", k, p.StepTime, want, err)
		}
	}
}
