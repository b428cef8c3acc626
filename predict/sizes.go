package predict

import (
	"slices"

	"knee/data"
	"knee/fit"
)

// Sizes returns the workers and ps to predict for one GPU type and mode: workers from 1 to
// 16, on to twice the most measured in doublings, and what was measured; ps as measured.
func Sizes(m *fit.Model, gpuType string, mode data.Mode) (workers, ps []int) {
	most := 1
	for _, row := range m.Measurements(gpuType, mode) {
		most = max(most, row.Workers)
		workers = append(workers, row.Workers)
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
	slices.Sort(workers)
	return slices.Compact(workers), ps
}
