package plots

import (
	"fmt"
	"math"

	"knee/data"
	"knee/predict"
)

// batchSteps is how many batches a batch figure looks at.
const batchSteps = 24

// BatchOf is what a model says of the batch on the placement of base, over
// the local batches that were measured. It fails if only one was.
func BatchOf(p *predict.Predictor, base data.Config) (Batch, error) {
	lo, hi := p.Model.BatchRange(base.GPUType, base.ModeOrDefault())
	if !(hi > lo) {
		return Batch{}, bad("batch", "one local batch measured", "measurements at two or more")
	}
	b := Batch{Title: "Choice of batch: " + p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s", Condition{Predictor: p, Base: base}.named(), amount(float64(base.Workers), "workers"))}
	best := 0.0
	previous := 0.0
	for i := range batchSteps {
		at := base
		at.LocalBatch = math.Round(lo * math.Pow(hi/lo, float64(i)/(batchSteps-1)))
		if at.LocalBatch <= previous {
			continue
		}
		previous = at.LocalBatch
		a, err := p.At(at)
		if err != nil {
			return Batch{}, err
		}
		x := a.Config.GlobalBatch()
		b.Throughput = append(b.Throughput, BandOf(x, a.Throughput, a.Extrapolated))
		b.Goodput = append(b.Goodput, BandOf(x, a.Goodput, a.Extrapolated))
		b.Efficiency = append(b.Efficiency, BandOf(x, a.Efficiency, a.Extrapolated))
		if a.Goodput.Mean > best {
			best, b.Best = a.Goodput.Mean, x
		}
	}
	return b, nil
}
