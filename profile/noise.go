package profile

import (
	"maps"
	"slices"

	"knee/data"
	"knee/fit/gradnoise"
)

// Efficiency returns the statistical efficiency of training at a global
// batch, from the gradient statistics that trials have reported so far. It
// is 1 as long as nothing is known, or if the study names no initial batch.
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
