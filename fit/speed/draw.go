package speed

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/internal/leastsq"
)

// resample returns how often to keep each draw, in proportion to how far its
// posterior density exceeds the normal it was drawn from: systematic importance
// resampling with weights truncated at √n times their mean (Ionides, "Truncated
// Importance Sampling", 2008), so that no draw stands for very many. length is half the squared length of each in the normal.
func resample(p leastsq.Problem, zs [][]float64, length []float64) (times []int) {
	r := make([]float64, p.Rows)
	ln := make([]float64, len(zs))
	top := math.Inf(-1)
	for d, z := range zs {
		p.Residuals(z, r)
		if ln[d] = length[d] - blas64.Dot(vec(r), vec(r))/2; !(ln[d] > math.Inf(-1)) {
			ln[d] = math.Inf(-1) // beyond the numbers
		}
		top = math.Max(top, ln[d])
	}
	n := float64(len(zs))
	w := make([]float64, len(zs))
	var sum float64
	for d := range w {
		w[d] = math.Exp(ln[d] - top)
		sum += w[d]
	}
	most := sum / math.Sqrt(n)
	sum = 0
	for d := range w {
		w[d] = math.Min(w[d], most)
		sum += w[d]
	}
	times = make([]int, len(zs))
	at, cum := 0, w[0]
	for d := range zs {
		for want := sum * (float64(d) + .5) / n; cum < want && at < len(w)-1; cum += w[at] {
			at++
		}
		times[at]++
	}
	return times
}

// stratified returns n variates of a distribution, one from each of n equally
// likely strata, in random order.
func stratified(of distuv.Quantiler, n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = of.Quantile((float64(i) + .5) / float64(n))
	}
	rng.Shuffle(n, func(i, j int) { v[i], v[j] = v[j], v[i] })
	return v
}

// decorrelate reorders a symmetric sample, signs apart, so that it correlates
// little with others: its values take the ranks of what regressions on one
// after the other leave of it (Owen, "Controlling correlations in Latin
// hypercube samples", 1994). Random orders of 100 values correlate by a tenth,
// which makes the spread of a sum of ten a tenth wrong.
func decorrelate(v []float64, others [][]float64) {
	left := slices.Clone(v)
	for _, o := range others {
		if square := blas64.Dot(vec(o), vec(o)); square > 0 {
			blas64.Axpy(-blas64.Dot(vec(o), vec(left))/square, vec(o), vec(left))
		}
	}
	sizes, order := make([]float64, len(v)), make([]int, len(v))
	for i := range v {
		sizes[i], order[i] = math.Abs(v[i]), i
	}
	slices.Sort(sizes)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(left[a]), math.Abs(left[b])) })
	for rank, i := range order {
		v[i] = math.Copysign(sizes[rank], left[i])
	}
}

// upper returns the sizes of n equally likely strata of a symmetric
// distribution, one for each.
func upper(of distuv.Quantiler, n int) []float64 {
	sizes := make([]float64, n)
	for j := range sizes {
		sizes[j] = of.Quantile(.5 + (float64(j)+.5)/float64(2*n))
	}
	return sizes
}

// upperT is upper of draws/2 strata of the t distribution, by its degrees of
// freedom: kept, as it takes longer than anything else of a posterior.
var upperT sync.Map

func upperOfT(tail float64) []float64 {
	sizes, known := upperT.Load(tail)
	if !known {
		sizes, _ = upperT.LoadOrStore(tail, upper(distuv.StudentsT{Sigma: 1, Nu: tail}, draws/2))
	}
	return sizes.([]float64)
}

// stratifiedHalf returns variates of a symmetric distribution for antithetic
// pairs: their sizes those of its strata, their signs random.
func stratifiedHalf(sizes []float64, rng *rand.Rand) []float64 {
	v := make([]float64, len(sizes))
	for j, at := range rng.Perm(len(v)) {
		v[at] = sizes[j]
		if rng.IntN(2) == 0 {
			v[at] = -v[at]
		}
	}
	return v
}

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = -x
	}
	return out
}
