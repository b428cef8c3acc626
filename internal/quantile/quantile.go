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

// Tails returns the p- and the (1−p)-quantile of values in any order, equal
// to Sorted(sorted values, p) and Sorted(sorted values, 1−p) for 0 ≤ p ≤ 0.5.
// For small p it is several times faster than sorting; values are reordered.
func Tails(values []float64, p float64) (lo, hi float64) {
	n := len(values)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	// Only this many at either end matter; select them by insertion.
	m := min(int(math.Max(0, math.Min(.5, p))*float64(n-1))+2, n)
	if 2*m > n || m > 32 {
		slices.Sort(values)
		return Sorted(values, p), Sorted(values, 1-p)
	}
	var low, high [32]float64
	copy(low[:m], values[:m])
	slices.Sort(low[:m])
	copy(high[:m], low[:m])
	for _, v := range values[m:] {
		if v < low[m-1] {
			i := m - 1
			for ; i > 0 && low[i-1] > v; i-- {
				low[i] = low[i-1]
			}
			low[i] = v
		}
		if v > high[0] {
			i := 0
			for ; i < m-1 && high[i+1] < v; i++ {
				high[i] = high[i+1]
			}
			high[i] = v
		}
	}
	at := p * float64(n-1)
	i := int(at)
	lo = between(low[i], low[min(i+1, m-1)], at-float64(i))
	at = (1 - p) * float64(n-1)
	i = int(at)
	j := i - (n - m) // where order statistic i stands among the highest
	return lo, between(high[j], high[min(j+1, m-1)], at-float64(i))
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
