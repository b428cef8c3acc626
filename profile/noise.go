package profile

import "knee/fit/gradnoise"

// Efficiency returns the statistical efficiency of training at a global
// batch, from the gradient statistics that trials have reported so far. It
// is 1 as long as nothing is known, or if the study names no initial batch.
func (r *Runner) Efficiency(globalBatch float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noiseAt != len(r.ended) { // the curves have grown
		r.noiseAt = len(r.ended)
		r.noise = nil
		if scale, err := gradnoise.Fit(r.curves, r.Study.Batch.Initial); err == nil {
			r.noise = scale
		}
	}
	if r.noise == nil {
		return 1
	}
	return r.noise.Efficiency(globalBatch).Mean
}
