package form

import "math"

// power is a baseline: the GPU-seconds of a sample are a power of the workers,
//
//	T = per_sample·M/k·k^exponent
//
// with k workers and M samples per step. Linear scaling has the exponent 0. All
// of the time counts as computation.
func power(s Scale, linear bool) Form {
	f := &published{scale: s, parameters: []parameter{{"per_sample", "s", positive(s.Time / s.Batch)}}}
	if !linear {
		f.parameters = append(f.parameters, parameter{"exponent", "", func(x float64) float64 { return x }})
	}
	f.lnTimes = func(v []float64, p *Point) (step, compute float64) {
		compute = math.Log(v[0] * p.Batch)
		if !linear {
			compute += v[1] * p.LnWorkers
		}
		return compute + math.Log1p(p.Accum), compute
	}
	return f
}
