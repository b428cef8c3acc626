package predict

import (
	"math"
	"slices"

	"knee/data"
	"knee/fit"
)

// Sizes returns the numbers of workers and parameter servers to predict for one
// GPU type and mode: workers from 1 to twice the most measured, each up to 16
// and doublings beyond; ps as measured (only 0 where the mode has none).
func Sizes(m *fit.Model, gpuType string, mode data.Mode) (workers, ps []int) {
	most := 1
	for _, row := range m.Measurements(gpuType, mode) {
		most = max(most, row.Workers)
		if !slices.Contains(ps, row.PS) {
			ps = append(ps, row.PS)
		}
	}
	for k := 1; k <= 2*most; k++ {
		if k > 16 {
			k = min(2*(k-1), 2*most)
		}
		workers = append(workers, k)
	}
	slices.Sort(ps)
	return workers, ps
}

// Within returns the candidates within the measured range, or all that can be
// predicted if none is.
func Within(p *Predictor, candidates []data.Config) []data.Config {
	var inside, outside []data.Config
	for _, c := range candidates {
		a, err := p.At(c)
		switch {
		case err != nil || math.IsNaN(a.StepTime.Mean):
		case a.Extrapolated:
			outside = append(outside, c)
		default:
			inside = append(inside, c)
		}
	}
	if len(inside) > 0 {
		return inside
	}
	return outside
}

// Unmeasured returns the candidates that no measurement covers.
func Unmeasured(candidates []data.Config, measured []data.Measurement) []data.Config {
	known := map[string]bool{}
	for _, m := range measured {
		known[m.Key()] = true
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(c data.Config) bool { return known[c.Key()] })
}
