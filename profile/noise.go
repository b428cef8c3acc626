package profile

import (
	"maps"
	"slices"

	"knee/data"
	"knee/fit/gradnoise"
)

// Efficiency returns the statistical efficiency (0, 1] at a global batch
// (samples) by the trials so far; 1 without an estimate or without an initial
// batch.
func (r *Runner) Efficiency(globalBatch float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noise == nil || r.noiseAt != len(r.results) { // there are more curves
		r.noiseAt = len(r.results)
		var curves []data.CurvePoint
		for _, id := range slices.Sorted(maps.Keys(r.results)) {
			curves = append(curves, r.results[id].Curve...)
		}
		r.noise = efficiencyOf(curves, r.Study)
	}
	return r.noise(globalBatch)
}

func efficiencyOf(curves []data.CurvePoint, s *data.Study) func(globalBatch float64) float64 {
	scale, err := gradnoise.Fit(curves, s.Batch.Initial)
	if err != nil {
		return func(float64) float64 { return 1 }
	}
	return func(m float64) float64 { return scale.Efficiency(m).Mean }
}
