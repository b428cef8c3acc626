package fit

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/internal/leastsq"
)

// draws is the number of posterior draws behind an interval, in antithetic
// pairs.
const draws = 200

// noiseFreedom is the degrees of freedom of the t-distributed noise of new
// runs: step times have outliers. How uncertain the scale of the noise is
// comes on top.
const noiseFreedom = 10

// draw samples the posterior of the parameters, and the noise that goes with
// each sample: a Laplace approximation, a normal around the estimate with the
// inverse of JᵀJ as covariance, J the Jacobian of the whitened residuals and
// the wide prior, corrected by importance. Where few measurements hold the
// parameters the normal reaches far into what they exclude, and intervals
// from it alone were up to twice as wide.
//
// The normal is stratified along its principal axes, and these are made to
// vary together as little as they should, so that the intervals depend little
// on the seed.
func (st *stack) draw(o *observations, seed uint64) error {
	p := st.form.prior()
	n := len(st.theta)
	problem := o.problem(st.form, p, p.widths())
	axes, precision, err := st.principal(leastsq.Jacobian(problem, st.theta))
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0x6b6e6565))
	z := make([][]float64, n)
	for k := range z {
		z[k] = stratifiedHalf(draws/2, rng)
		decorrelate(z[k], z[:k])
	}
	thetas := make([][]float64, 0, draws)
	length := make([]float64, 0, draws) // half the squared length in sds
	for pair := range draws / 2 {
		plus, minus := slices.Clone(st.theta), slices.Clone(st.theta)
		var l float64
		for k := range n {
			l += z[k][pair] * z[k][pair] / 2
			for i := range n {
				d := axes.At(i, k) * z[k][pair] / math.Sqrt(precision[k])
				plus[i] += d
				minus[i] -= d
			}
		}
		thetas, length = append(thetas, plus, minus), append(length, l, l)
	}
	others := make([][]float64, n, n+1) // coordinates of the draws
	for _, d := range resample(problem, thetas, length) {
		st.drawn = append(st.drawn, st.form.bind(thetas[d]))
		for k := range n {
			others[k] = append(others[k], z[k][d/2]*float64(1-d%2*2))
		}
	}
	st.noise = stratified(distuv.StudentsT{Sigma: 1, Nu: noiseFreedom}, draws, rng)
	st.gauss = stratified(distuv.UnitNormal, draws, rng)
	decorrelate(st.gauss, others)
	decorrelate(st.noise, append(others, st.gauss))
	if len(st.fresh) == draws {
		rng.Shuffle(draws, func(i, j int) { st.fresh[i], st.fresh[j] = st.fresh[j], st.fresh[i] })
	}
	return nil
}

// principal returns the principal axes of JᵀJ, scaled so that they are in the
// coordinates of the solver, and its eigenvalues along them.
func (st *stack) principal(j *mat.Dense) (*mat.Dense, []float64, error) {
	n := len(st.theta)
	a := mat.NewSymDense(n, nil)
	a.SymOuterK(1, j.T())
	// Scaled to a unit diagonal: the coefficients of linear forms differ by
	// many orders of magnitude.
	unit := make([]float64, n)
	for i := range unit {
		unit[i] = 1 / math.Sqrt(a.At(i, i))
	}
	var sum float64
	for i := range n {
		for k := i; k < n; k++ {
			a.SetSym(i, k, a.At(i, k)*unit[i]*unit[k])
			sum += a.At(i, k)
		}
		a.SetSym(i, i, 1+1e-10)
	}
	var eigen mat.EigenSym
	if !finite(sum) || !eigen.Factorize(a, true) {
		return nil, nil, fmt.Errorf("fit family %s: the posterior is not positive definite", st.form.name())
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	precision := eigen.Values(nil)
	for k := range n {
		precision[k] = math.Max(precision[k], 1e-10) // below only by rounding
		for i := range n {
			axes.Set(i, k, axes.At(i, k)*unit[i])
		}
	}
	return &axes, precision, nil
}

// resample returns as many indices of draws as there are, each as often as
// its posterior density exceeds the normal it was drawn from says: systematic
// importance resampling with weights truncated at √n times their mean
// (Ionides, "Truncated Importance Sampling", 2008), so that no draw stands
// for very many. length is half the squared length of each in the normal.
func resample(p leastsq.Problem, thetas [][]float64, length []float64) []int {
	r := make([]float64, p.Rows)
	ln := make([]float64, len(thetas))
	top := math.Inf(-1)
	for d, t := range thetas {
		p.Residuals(t, r)
		if ln[d] = length[d] - blas64.Dot(vector(r), vector(r))/2; !(ln[d] > math.Inf(-1)) {
			ln[d] = math.Inf(-1) // beyond the numbers
		}
		top = math.Max(top, ln[d])
	}
	n := float64(len(thetas))
	w := make([]float64, len(thetas))
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
	chosen := make([]int, 0, len(thetas))
	at, cum := 0, w[0]
	for d := range thetas {
		for want := sum * (float64(d) + .5) / n; cum < want && at < len(w)-1; cum += w[at] {
			at++
		}
		chosen = append(chosen, at)
	}
	return chosen
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
		if square := blas64.Dot(vector(o), vector(o)); square > 0 {
			blas64.Axpy(-blas64.Dot(vector(o), vector(left))/square, vector(o), vector(left))
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

// stratifiedHalf returns n standard normal variates for antithetic pairs:
// their sizes stratified, their signs random.
func stratifiedHalf(n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for j, at := range rng.Perm(n) {
		v[at] = distuv.UnitNormal.Quantile(.5 + (float64(j)+.5)/float64(2*n))
		if rng.IntN(2) == 0 {
			v[at] = -v[at]
		}
	}
	return v
}
