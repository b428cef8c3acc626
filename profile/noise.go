package profile

import (
	"maps"
	"slices"

	"knee/data"
	"knee/fit/gradnoise"
)

// Efficiency returns the statistical efficiency (0, 1] of training at a global
// batch (samples), from the gradient statistics of the trials so far; 1 without
// an estimate, or if the study names no initial batch.
func (r *Runner) Efficiency(globalBatch float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noiseAt != len(r.results) { // there are more curves
		r.noiseAt = len(r.results)
		r.noise = nil
		var curves []data.CurvePoint
		for _, id := range slices.Sorted(maps.Keys(r.results)) {
			curves = append(curves, r.results[id].Curve...)
		}
		if scale, err := gradnoise.Fit(curves, r.Study.Batch.Initial); err == nil {
			r.noise = scale
		}
	}
	if r.noise == nil {
		return 1
	}
	return r.noise.Efficiency(globalBatch).Mean
}
