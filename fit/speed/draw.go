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

// resample returns the indices of the proposals chosen as draws, ascending, in
// proportion to posterior density over proposal density, whose negative
// logarithm is length: systematic importance resampling with weights truncated
// at √n times their mean (Ionides, "Truncated Importance Sampling", 2008).
func resample(density func(z []float64) float64, z func(proposal int) []float64, length []float64) (from []int) {
	ln := make([]float64, len(length))
	top := math.Inf(-1)
	for i := range length {
		if ln[i] = length[i] + density(z(i)); !(ln[i] > math.Inf(-1)) {
			ln[i] = math.Inf(-1) // NaN
		}
		top = math.Max(top, ln[i])
	}
	n := float64(len(length))
	w := make([]float64, len(length))
	var sum float64
	for i := range w {
		w[i] = math.Exp(ln[i] - top)
		sum += w[i]
	}
	most := sum / math.Sqrt(n)
	sum = 0
	for i := range w {
		w[i] = math.Min(w[i], most)
		sum += w[i]
	}
	at, cum := 0, w[0]
	for d := range draws {
		for want := sum * (float64(d) + .5) / draws; cum < want && at < len(w)-1; cum += w[at] {
			at++
		}
		from = append(from, at)
	}
	return from
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

// upper returns one absolute value for each of n equally likely strata of a
// symmetric distribution.
func upper(of distuv.Quantiler, n int) []float64 {
	sizes := make([]float64, n)
	for j := range sizes {
		sizes[j] = of.Quantile(.5 + (float64(j)+.5)/float64(2*n))
	}
	return sizes
}

// design is the random part of a posterior sample, independent of the model:
// antithetic pairs of a multivariate t distribution about zero, from a Latin
// hypercube, and the variates of each draw.
type design struct {
	u      [][]float64 // per axis, one of each pair
	length []float64   // negative log density of each proposal, up to a constant
	gauss  []float64   // standard normal, for the process
	noise  []float64   // standard t, for a new run
	order  []int       // order of the process scales
}

// at returns coordinate k of a proposal.
func (d *design) at(k, i int) float64 { return d.u[k][i/2] * float64(1-i%2*2) }

type designKey struct {
	seed uint64
	n    int // axes
	tail float64
}

// designs caches designs: they cost more than the rest of a posterior, and
// models of the same seed, GPU types and form share theirs.
var designs sync.Map

func designOf(key designKey) *design {
	if d, known := designs.Load(key); known {
		return d.(*design)
	}
	rng := rand.New(rand.NewPCG(key.seed, 0x6b6e6565))
	d := &design{u: make([][]float64, key.n), length: make([]float64, proposals), order: make([]int, draws)}
	sizes := upper(distuv.UnitNormal, proposals/2)
	for k := range d.u {
		d.u[k] = stratifiedHalf(sizes, rng)
		decorrelate(d.u[k], d.u[:k])
	}
	for pair, chi := range stratified(distuv.ChiSquared{K: key.tail}, proposals/2, rng) {
		var square float64
		for k := range d.u {
			d.u[k][pair] *= math.Sqrt(key.tail / chi)
			square += sq(d.u[k][pair])
		}
		d.length[2*pair] = (key.tail + float64(key.n)) / 2 * math.Log1p(square/key.tail)
		d.length[2*pair+1] = d.length[2*pair]
	}
	d.gauss = stratified(distuv.UnitNormal, draws, rng)
	d.noise = stratifiedHalf(upper(distuv.StudentsT{Sigma: 1, Nu: key.tail}, draws/2), rng)
	mirror := slices.Clone(d.noise)
	blas64.Scal(-1, vec(mirror))
	d.noise = append(d.noise, mirror...)
	for i := range d.order {
		d.order[i] = i
	}
	rng.Shuffle(draws, func(i, j int) { d.order[i], d.order[j] = d.order[j], d.order[i] })
	designs.Store(key, d)
	return d
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
