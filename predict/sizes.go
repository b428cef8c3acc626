package predict

import (
	"math"
	"slices"

	"knee/data"
	"knee/fit"
)

// Sizes returns the numbers of workers and parameter servers worth looking
// at for one GPU type and mode: workers from 1 to twice the most measured,
// every number up to 16 and doublings beyond, and the numbers of ps that
// were measured (0 alone where the mode has none).
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

// BestUnmeasured returns the candidate with the largest expected goodput
// among those that no measurement covers and that lie within the measured
// range: the configuration that best puts a model to the test. Where every
// candidate is outside the range, the best of those is returned. It fails as
// [Best] does if no candidate can be predicted or all have been measured.
func BestUnmeasured(p *Predictor, candidates []data.Config, measured []data.Measurement) (Answer, error) {
	known := map[string]bool{}
	for _, m := range measured {
		known[m.Key()] = true
	}
	var inside, outside []data.Config
	for _, c := range candidates {
		if known[c.Key()] {
			continue
		}
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
		return Best(p, inside, Limits{})
	}
	return Best(p, outside, Limits{})
}
