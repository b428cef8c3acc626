package speed

import (
	"context"
	"math"
	"math/rand/v2"

	"knee/data"
	"knee/fit/speed/form"
)

func fitAll(ms []data.Measurement, s Settings) (*Model, error) {
	return Fit(context.Background(), ms, s)
}

func measured(k int, b, step float64) data.Measurement {
	return data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{
		Job: "j", GPUType: "t4", Mode: data.AllReduce, Workers: k, LocalBatch: b, Placement: data.EvenPlacement(k, (k+3)/4)}}
}

func serverRow(k, ps int, step float64) data.Measurement {
	return data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{
		Job: "j", GPUType: "cpu", Mode: data.PSSync, Workers: k, PS: ps, LocalBatch: 64 / float64(k)}}
}

func madeUp() *form.Collective {
	return &form.Collective{
		Fixed: .05, PerBatch: .1, RefBatch: 32, Intra: .03, Power: .1, IntraPower: .1,
		Inter: .05, Tree: 1, Overlap: 2,
	}
}

// synthetic returns n measurements of a simulated job with a little noise, over
// batches, nodes and widths.
func synthetic(n int) []data.Measurement {
	truth := madeUp()
	rng := rand.New(rand.NewPCG(7, 7))
	var ms []data.Measurement
	for i := 0; len(ms) < n; i++ {
		nodes := 1 + i%4
		width := 1 + (i/4)%4
		batch := 16 * math.Pow(2, float64(i/16)/8)
		c := data.Config{Job: "made-up", GPUType: "t4", Mode: data.AllReduce, Workers: nodes * width,
			Placement: data.EvenPlacement(nodes*width, nodes), LocalBatch: math.Round(batch*1e3) / 1e3}
		t := truth.StepTime(c) * math.Exp(.02*rng.NormFloat64())
		lone := c
		lone.Workers, lone.Placement = 1, nil
		ms = append(ms, data.Measurement{Config: c, StepTime: t, SyncTime: math.Max(t-truth.StepTime(lone), 0), Status: data.OK})
	}
	return ms
}
