package speed_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// A job measured at one batch may be bound by launches, which take as long at
// every batch, or by computing in proportion to it. Nine in ten intervals hold
// twice the batch whichever it is, for steps of 1 to 100 ms, in every mode and with
// layouts.
func TestOneBatchLeavesLaunchesOpen(t *testing.T) {
	const jobs = 80
	for name, bare := range map[string]data.Config{
		"allreduce": {},
		"ps-async":  {Mode: data.PSAsync, PS: 2},
		"layouts":   {Layout: data.Layout{TP: 2}},
	} {
		for _, grows := range []float64{0, .1, 1} { // share of the step that grows with the batch
			r := rand.New(rand.NewPCG(3, 4))
			inside := 0
			for range jobs {
				seconds := .001 * math.Pow(10, r.Float64())
				step := func(c data.Config) float64 {
					t := seconds * (1 - grows + grows*c.LocalBatch/16) * (1 + .02*math.Log2(float64(c.Workers)))
					if c.Mode == data.PSAsync {
						t /= float64(c.Workers)
					}
					return t
				}
				at := func(workers int, batch float64) data.Config {
					c := bare
					c.Job, c.GPUType, c.Workers, c.LocalBatch, c.Nodes = "job", "a100", workers, batch, 1
					return c
				}
				var ms []data.Measurement
				for _, k := range []int{2, 4, 8} {
					c := at(k, 16)
					ms = append(ms, data.Measurement{Config: c, StepTime: step(c) * math.Exp(.01*r.NormFloat64()), Status: data.OK})
				}
				m, err := speed.Fit(context.Background(), ms, speed.Settings{})
				if err != nil {
					t.Fatal(name, err)
				}
				asked := at(4, 32)
				p, err := m.Predict(asked)
				if err != nil {
					t.Fatal(name, err)
				}
				if p.StepTime.Lo <= step(asked) && step(asked) <= p.StepTime.Hi {
					inside++
				}
			}
			if inside < jobs*9/10 {
				t.Errorf("%s, %g of the step grow with the batch: %d of %d inside", name, grows, inside, jobs)
			}
		}
	}
}

// Three batches that take the same time may be bound by launches for long, or only until
// computing takes as long. Both a step of .109 s at every batch and one of launches of
// .109 s, with which computing overlaps that takes .4 of that at the largest batch (and so
// adds .6 %, the noise), are possible at eight times that batch.
func TestFlatBatchesLeaveGrowthOpen(t *testing.T) {
	grown := func(batch float64) float64 { return .109 * math.Pow(1+math.Pow(.4*batch/32, 4), .25) }
	var ms []data.Measurement
	for _, batch := range []float64{8, 16, 32} {
		c := data.Config{Job: "j", GPUType: "a100", Workers: 1, Nodes: 1, LocalBatch: batch}
		ms = append(ms, data.Measurement{Config: c, StepTime: grown(batch), Status: data.OK})
	}
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	c := ms[0].Config
	c.LocalBatch = 256
	p, err := m.Predict(c)
	if err != nil {
		t.Fatal(err)
	}
	if p.StepTime.Lo > .109 || p.StepTime.Hi < grown(256) {
		t.Errorf("%v s, want .109 and %.3g inside", p.StepTime, grown(256))
	}
}
