// Package quantile has quantiles of samples. Unlike gonum's stat.Quantile, Median
// and Weighted sort the values themselves.
package quantile

import (
	"cmp"
	"math"
	"slices"
)

// Sorted returns the p-quantile (0 ≤ p ≤ 1) of values sorted in ascending order,
// interpolated linearly between neighbours (type 7 of Hyndman and Fan, 1996), NaN
// without values.
func Sorted(values []float64, p float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	at := math.Max(0, math.Min(1, p)) * float64(n-1)
	i := int(at)
	if i >= n-1 {
		return values[n-1]
	}
	return between(values[i], values[i+1], at-float64(i))
}

// between interpolates linearly.
func between(a, b, share float64) float64 {
	if a == b || share == 0 { // avoids Inf − Inf and 0·Inf
		return a
	}
	return a + share*(b-a)
}

// Median returns the median, NaN without values. It does not reorder values.
func Median(values []float64) float64 {
	return Sorted(slices.Sorted(slices.Values(values)), 0.5)
}

// Weighted returns the p-quantile of values under weights ≥ 0: the smallest
// value at which the cumulated weight reaches p of the total. It returns NaN
// if the total weight is not positive.
func Weighted(values, weights []float64, p float64) float64 {
	order := make([]int, len(values))
	var total float64
	for i := range order {
		order[i] = i
		total += weights[i]
	}
	if !(total > 0) {
		return math.NaN()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	var sum float64
	for _, i := range order {
		if sum += weights[i]; sum >= p*total && weights[i] > 0 {
			return values[i]
		}
	}
	return values[order[len(order)-1]]
}
