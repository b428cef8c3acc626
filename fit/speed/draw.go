package speed

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/stat/distuv"
)

// systematic returns n indices, ascending, in proportion to weights (Kitagawa,
// "Monte Carlo Filter and Smoother", 1996, appendix).
func systematic(weights []float64, n int) (from []int) {
	sum := blas64.Asum(vec(weights))
	at, cum := 0, weights[0]
	for d := range n {
		for want := sum * (float64(d) + .5) / float64(n); cum < want && at < len(weights)-1; cum += weights[at] {
			at++
		}
		from = append(from, at)
	}
	return from
}

// equidistributed returns a number from 0 to 1 for draw d, spread evenly over draws:
// multiples of an irrational number. Different numbers give unrelated sequences.
func equidistributed(d int, by float64) float64 {
	_, u := math.Modf(float64(d+1) * by)
	return u
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

// decorrelate reorders the absolute values of a symmetric sample to reduce its
// correlation with others: they take the ranks of the residuals of successive
// regressions (Owen, "Controlling correlations in Latin hypercube samples",
// 1994). Random orders of 100 values correlate by a tenth, which makes the
// spread of a sum of ten a tenth wrong.
func decorrelate(v []float64, others [][]float64) {
	left := slices.Clone(v)
	for _, o := range others {
		if square := blas64.Dot(vec(o), vec(o)); square > 0 {
			blas64.Axpy(-blas64.Dot(vec(o), vec(left))/square, vec(o), vec(left))
		}
	}
	type residual struct {
		size float64
		at   int
	}
	sizes, order := make([]float64, len(v)), make([]residual, len(v))
	for i := range v {
		sizes[i], order[i] = math.Abs(v[i]), residual{math.Abs(left[i]), i}
	}
	slices.Sort(sizes)
	slices.SortFunc(order, func(a, b residual) int { return cmp.Compare(a.size, b.size) })
	for rank, r := range order {
		v[r.at] = math.Copysign(sizes[rank], left[r.at])
	}
}

// upper returns one absolute value for each of n equally likely strata of a
// symmetric distribution.
func upper(of distuv.Quantiler, n int) []float64 {
	sizes := make([]float64, n)
	for j := range sizes {
		sizes[j] = of.Quantile(.5 + (float64(j)+.5)/float64(2*n))
	}
	return sizes
}

// design is the random part of the proposals, independent of the model:
// antithetic pairs of a multivariate t distribution about zero, from a Latin
// hypercube.
type design struct {
	u      [][]float64 // per axis, one of each pair
	length []float64   // negative log density of each proposal, up to a constant
}

// at returns coordinate k of a proposal.
func (d *design) at(k, i int) float64 { return d.u[k][i/2] * float64(1-i%2*2) }

type designKey struct {
	seed      uint64
	proposals int
	n         int // axes
	tail      float64
}

// designs and variates cache what is random: it costs more than the rest of a
// posterior, and models of the same seed, GPU types and form share it.
var designs, variates sync.Map

func designOf(key designKey) *design {
	if d, known := designs.Load(key); known {
		return d.(*design)
	}
	rng := rand.New(rand.NewPCG(key.seed, 0x6b6e6565))
	d := &design{u: make([][]float64, key.n), length: make([]float64, key.proposals)}
	sizes := upper(distuv.UnitNormal, key.proposals/2)
	for k := range d.u {
		d.u[k] = stratifiedHalf(sizes, rng)
		decorrelate(d.u[k], d.u[:k])
	}
	for pair, chi := range stratified(distuv.ChiSquared{K: key.tail}, key.proposals/2, rng) {
		var square float64
		for k := range d.u {
			d.u[k][pair] *= math.Sqrt(key.tail / chi)
			square += sq(d.u[k][pair])
		}
		d.length[2*pair] = (key.tail + float64(key.n)) / 2 * math.Log1p(square/key.tail)
		d.length[2*pair+1] = d.length[2*pair]
	}
	designs.Store(key, d)
	return d
}

// variate is the random part of draws besides their proposals.
type variate struct {
	gauss []float64 // standard normal, for the process
	noise []float64 // standard t, for a new run
}

type variateKey struct {
	seed uint64
	n    int // draws
	tail float64
}

func variatesOf(key variateKey) *variate {
	if v, known := variates.Load(key); known {
		return v.(*variate)
	}
	rng := rand.New(rand.NewPCG(key.seed, 0x64726177))
	v := &variate{gauss: stratified(distuv.UnitNormal, key.n, rng)}
	v.noise = stratifiedHalf(upper(distuv.StudentsT{Sigma: 1, Nu: key.tail}, key.n/2), rng)
	mirror := slices.Clone(v.noise)
	blas64.Scal(-1, vec(mirror))
	v.noise = append(v.noise, mirror...)
	variates.Store(key, v)
	return v
}

// stratifiedHalf returns variates of a symmetric distribution for antithetic
// pairs, from shuffled absolute values with random signs.
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
