package memory

import (
	"math"

	"knee/data"
)

// Feasibility predicts whether configurations fit in memory, from trials and,
// if known, the size of the model.
type Feasibility struct{ Architecture data.Architecture }

// Fits returns a function for the probability that a configuration fits in the
// memory of a device, given trials. ok is false if the memory of the GPU type
// is unknown, if the configuration has no batch, and if neither the size of the
// model nor a peak is known.
func (f Feasibility) Fits(trials []data.Measurement) func(data.Config) (p float64, ok bool) {
	peaks := 0
	for _, m := range trials {
		if m.PeakMemory > 0 {
			peaks++
		}
	}
	if peaks == 0 && f.Architecture.Zero() {
		return func(data.Config) (float64, bool) { return 0, false }
	}
	model := Fit(trials, f.Architecture, 1)
	return func(c data.Config) (float64, bool) {
		if c.LocalBatch <= 0 || math.IsInf(model.Capacity(c.GPUType), 1) {
			return 0, false
		}
		return model.Predict(c).Fits, true
	}
}
