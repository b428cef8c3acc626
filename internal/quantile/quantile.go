// Package quantile summarises samples by order statistics.
//
// gonum's stat.Quantile wants sorted input and has no weights-and-sort in one
// go; these two are all that the predictions need.
package quantile

import (
	"math"
	"slices"
)

// Sorted returns the p-quantile (0 ≤ p ≤ 1) of values that are sorted
// ascending, interpolating linearly between neighbours (type 7 of Hyndman
// and Fan, 1996). It returns NaN if there are none.
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
	if a == b || share == 0 { // keeps Inf − Inf and 0·Inf out
		return a
	}
	return a + share*(b-a)
}

// Median returns the median without changing the order of values.
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
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	var sum float64
	for _, i := range order {
		if sum += weights[i]; sum >= p*total && weights[i] > 0 {
			return values[i]
		}
	}
	return values[order[len(order)-1]]
}
