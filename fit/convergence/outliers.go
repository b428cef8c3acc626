package convergence

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// hampel returns the losses with outliers replaced by the median around them (Hampel's
// identifier; Pearson, IEEE Transactions on Control Systems Technology 2002). An outlier is
// further from it than six robust standard deviations of three points either side, fewer
// near the ends, and than six typical differences of neighbours. Noise and learning-rate
// drops stay, and first and last point, where a drop looks like an outlier.
func hampel(losses []float64) []float64 {
	const most = 3
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

// splitSpikes returns a record without its spikes: stretches that start more than
// six robust standard deviations above the course, and six typical differences of
// neighbours around, and last until the record is back at it, and as long again:
// what decayed to the noise in some time is then far below it. passed counts those
// that came back. At the end of the record a jump is open, if it is short or has
// come back by half: what lasts longer or rises slowly is no spike.
func splitSpikes(points []Point) (course, open []Point, passed int) {
	short := eighth(len(points))
	for {
		above := aboveCourse(points)
		var off []float64
		for _, d := range above {
			off = append(off, math.Abs(d))
		}
		spread, ls := madToSD*quantile.Median(off), losses(points)
		start, jump := -1, false // of the current spike
		back, clear := 0, 0      // spikes that came back, and the first point that they do not touch
		course = nil
		for i, d := range above {
			// A short spike is a minority of what lies so near.
			near := ls[max(0, i-3*short):min(len(ls), i+3*short+1)]
			limit := far * math.Max(spread, typicalMove(near))
			switch {
			case start < 0 && d > limit:
				start, jump = i, i > 0 && ls[i]-ls[i-1] > limit
			case start >= 0 && d <= 0:
				start, back, clear = -1, back+1, 2*i-start
			}
			if start < 0 && i >= clear {
				course = append(course, points[i])
			}
		}
		passed = max(passed, back)
		if start >= 0 {
			half := slices.Max(above[start:]) / 2
			if tail := points[start:]; back == 0 && jump && (len(tail) <= short || above[len(above)-1] < half) {
				return course, tail, passed
			}
			course = append(course, points[start:]...)
		}
		if back == 0 {
			return course, nil, passed
		}
		points = course // without the spikes the course is clearer
	}
}

// aboveCourse returns how far the points are above the falling curve with the least
// absolute deviation, which spikes do not move as long as they are fewer than the rest.
func aboveCourse(points []Point) (above []float64) {
	median := func(p []Point) float64 { return quantile.Median(losses(p)) }
	for _, level := range isotone(points, median) {
		course := median(level)
		for _, p := range level {
			above = append(above, p.Loss-course)
		}
	}
	return above
}

// far is the distance of outliers and spikes, in standard deviations.
const far = 6

// madToSD is the sd of a normal over its median absolute deviation, 1/Φ⁻¹(3/4).
const madToSD = 1.4826

// typicalMove returns the median absolute difference of neighbours.
func typicalMove(losses []float64) float64 {
	moves := make([]float64, len(losses)-1)
	for i := range moves {
		moves[i] = math.Abs(losses[i+1] - losses[i])
	}
	return quantile.Median(moves)
}

// noise returns the sd of single values: differences of neighbours have twice its variance.
func noise(points []Point) float64 {
	return typicalMove(losses(points)) * madToSD / math.Sqrt2
}
