package convergence

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// hampel returns the losses with outliers replaced by the median around them
// (Hampel's identifier; Pearson, IEEE Transactions on Control Systems
// Technology 2002). An outlier is further from the median than six robust
// standard deviations of a window of three points either side, fewer near the
// ends, and than six typical differences of neighbours. Noise and learning-rate
// drops stay. So do the first and last point, as a drop there looks like an
// outlier.
func hampel(losses []float64) []float64 {
	const (
		most = 3
		far  = 6
	)
	out := slices.Clone(losses)
	if len(losses) < 2 {
		return out
	}
	typical := typicalMove(losses)
	var buffer [2*most + 1]float64 // reused: records have up to millions of points
	for i := 1; i < len(losses)-1; i++ {
		side := min(most, i, len(losses)-1-i)
		window := buffer[:2*side+1]
		copy(window, losses[i-side:])
		slices.Sort(window)
		mid := window[side]
		for j := range window {
			window[j] = math.Abs(window[j] - mid)
		}
		slices.Sort(window)
		if d := math.Abs(losses[i] - mid); d > far*math.Max(madToSD*window[side], typical) {
			out[i] = mid
		}
	}
	return out
}

// madToSD is the standard deviation of a normal over its median absolute
// deviation, 1/Φ⁻¹(3/4).
const madToSD = 1.4826

// typicalMove returns the median absolute difference of neighbours.
func typicalMove(losses []float64) float64 {
	moves := make([]float64, len(losses)-1)
	for i := range moves {
		moves[i] = math.Abs(losses[i+1] - losses[i])
	}
	return quantile.Median(moves)
}
