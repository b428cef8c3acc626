package memory

import (
	"math"

	"knee/data"
)

// Feasibility tells a search how likely a configuration is to fit, from the
// trials so far and, where it is known, the size of the model.
type Feasibility struct{ Architecture data.Architecture }

// Fits returns the probability that a configuration fits into the memory of a
// device, given trials. ok is false where nothing is known to say so: of a GPU
// type whose memory is not known, of a configuration without a batch, and where
// neither the size of the model nor a single peak is known.
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
		return model.Predict(c, 0).Fits, true
	}
}
