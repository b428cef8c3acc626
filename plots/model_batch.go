package plots

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/predict"
)

// batchSteps is how many batches a curve is drawn through.
const batchSteps = 24

// BatchOf is what a model says of the batch on the placement of base, over the
// range of the local batches that were measured. It marks a local batch, or if
// that is 0 the one that [predict.Predictor.BestBatch] advises. It fails if only
// one local batch was measured.
func BatchOf(p *predict.Predictor, base data.Config, marked float64) (Batch, error) {
	lo, hi := p.Model.BatchRange(base.GPUType, base.ModeOrDefault())
	if !(hi > lo) {
		return Batch{}, bad("batch", "one local batch measured", "measurements at two or more")
	}
	b := Batch{Title: "Choice of batch: " + p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s", Condition{Predictor: p, Base: base}.named(), amount(float64(base.Workers), "workers"))}
	locals := make([]float64, batchSteps)
	for i := range locals {
		locals[i] = math.Round(lo * math.Pow(hi/lo, float64(i)/(batchSteps-1)))
	}
	if marked == 0 && base.ModeOrDefault() != data.PSAsync { // where BestBatch advises none
		if advised, err := p.BestBatch(base); err == nil && advised.Config.AccumSteps == base.AccumSteps {
			marked = advised.Config.LocalBatch
		}
	}
	if base.LocalBatch = marked; marked > 0 {
		locals, b.Best = append(locals, marked), base.GlobalBatch()
	}
	slices.Sort(locals)
	for _, local := range slices.Compact(locals) {
		at := base
		at.LocalBatch = local
		a, err := p.At(at)
		if err != nil {
			return Batch{}, err
		}
		x := a.Config.GlobalBatch()
		b.Throughput = append(b.Throughput, BandOf(x, a.Throughput, a.Extrapolated))
		b.Goodput = append(b.Goodput, BandOf(x, a.Goodput, a.Extrapolated))
		b.Efficiency = append(b.Efficiency, BandOf(x, a.Efficiency.Scale(100), a.Extrapolated))
	}
	return b, nil
}
