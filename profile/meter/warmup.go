package meter

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// warmup returns how many leading batches to drop: always the first, and those
// that the rule MSER selects (White, "An effective truncation heuristic for
// bias reduction in simulation output", Simulation 69, 1997) if they differ
// from the rest by more than chance explains at 5 %, by Bonferroni over the
// truncations that MSER chooses from. Without this test MSER also drops chance
// outliers, and the standard error of the rest is too small.
//
// Of n batches at most n/ln n are dropped. The end d of a warm-up is equally
// likely on a logarithmic scale, 1/(d ln n), and a lasting change of the
// machine's speed at any batch, 1/n: a slow spell longer than that is more
// likely such a change, which the mean and its standard error must include.
func warmup(bs []batch) int {
	n := len(bs)
	d := int(math.Min(float64(mser(bs)), float64(n)/math.Log(float64(n))))
	if d <= 1 {
		return min(1, n)
	}
	rest := bs[d:]
	_, dropped, _, _ := summary(bs[1:d])
	_, kept, _, _ := summary(rest)
	se := standardError(rest)
	limit := distuv.UnitNormal.Quantile(1 - .05/float64(n))
	// Variance of a mean ∝ 1/batches, for the dropped and the rest.
	if math.Abs(dropped-kept) <= limit*se*math.Sqrt(1+float64(len(rest))/float64(d-1)) {
		return 1
	}
	return d
}

// mser returns d in 1…n/2 that minimises Σ(x−mean)²/(n−d)² of the rest's means.
func mser(bs []batch) int {
	n := len(bs)
	best, at := math.Inf(1), 1
	var sum, sq float64
	for i := n - 1; i >= 1; i-- { // the rest grows towards the front
		x := bs[i].mean()
		sum += x
		sq += x * x
		k := float64(n - i)
		if i > n/2 {
			continue
		}
		if score := (sq - sum*sum/k) / (k * k); score <= best {
			best, at = score, i
		}
	}
	return at
}
