package speed_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// Time that grows in proportion to the workers, as of a coordinator: intervals of a few
// rows contain it, and many rows show it.
func TestTimeInProportionToWorkers(t *testing.T) {
	for _, batches := range [][]float64{{32}, {16, 32, 64}} {
		inside, asked, off := 0., 0., 0.
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			at := func(workers int, batch float64) data.Measurement {
				step := .1 + .2*batch/32 + .3*float64(workers)/32
				return data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: workers, LocalBatch: batch, Nodes: (workers + 7) / 8}, Status: data.OK,
					StepTime: step * math.Exp(.01*r.NormFloat64())}
			}
			var ms []data.Measurement
			for workers := 1; workers <= 32; workers *= 2 {
				for _, b := range batches {
					ms = append(ms, at(workers, b))
				}
			}
			m, err := speed.Fit(context.Background(), ms, speed.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{64, 256} {
				want := at(workers, 32)
				p, err := m.Predict(want.Config)
				if err != nil {
					t.Fatal(err)
				}
				if asked++; p.StepTime.Lo <= want.StepTime && want.StepTime <= p.StepTime.Hi {
					inside++
				}
				if workers == 64 {
					off += math.Abs(p.StepTime.Mean/want.StepTime-1) / 8
				}
			}
		}
		if t.Logf("%d batches: %.0f of %.0f inside, %.0f %% off at 64 workers", len(batches), inside, asked, 100*off); inside < .8*asked || len(batches) > 1 && off > .1 {
			t.Errorf("%d batches: %.0f of %.0f truths inside, %.0f %% off at twice the workers", len(batches), inside, asked, 100*off)
		}
	}
}
