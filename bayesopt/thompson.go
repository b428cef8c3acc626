package bayesopt

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// thompson is the name of Thompson sampling among the acquisitions: one
// function is drawn from the posterior, and its best candidate is taken
// (Thompson 1933; for Gaussian processes Russo and Van Roy 2014). Parallel
// trials spread by themselves. It needs the posterior of all candidates
// together, so that it is no [Acquisition].
const thompson = "thompson"

// thompsonJoint bounds the candidates that are drawn together, as the cost
// grows with their cube: those of smallest lower confidence bound. A candidate
// beyond them would have to be better than two standard deviations allow.
const thompsonJoint = 256

// thompson returns, for every one of the candidates, the negated response of
// one draw from the posterior, −Inf for those that were not drawn.
func (p *problem) thompson(post *Posterior, open []int) []float64 {
	rng := newRand(p.opts.Seed, p.trials)
	g, t := post.draw(rng)
	scores := make([]float64, len(open))
	bounds := topK{k: thompsonJoint}
	for k, i := range open {
		m, v := g.Predict(p.points[i])
		scores[k] = math.Inf(-1)
		bounds.add([]float64{float64(k)}, LCB(m+p.trends[t].at[i]+p.offset[i], math.Sqrt(v)))
	}
	joint := make([]int, len(bounds.points))
	at := make([]whitened, len(joint))
	for j, u := range bounds.points {
		joint[j] = int(u[0])
		at[j] = g.whiten(p.points[open[joint[j]]])
	}
	for j, v := range g.sample(at, rng) {
		i := open[joint[j]]
		m, _ := g.Predict(p.points[i])
		scores[joint[j]] = -(m + v + p.trends[t].at[i] + p.offset[i])
	}
	return scores
}

// draw returns a member, and its trend, with the probability of its weight.
func (p *Posterior) draw(rng *rand.Rand) (*GP, int) {
	u, k := rng.Float64(), 0
	for ; k < len(p.weights)-1 && u >= p.weights[k]; k++ {
		u -= p.weights[k]
	}
	return p.members[k], p.trend[k]
}

// sample draws from the posterior of the response at some inputs, less its
// mean.
func (g *GP) sample(at []whitened, rng *rand.Rand) []float64 {
	n := len(at)
	if n == 0 {
		return nil
	}
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			cov.SetSym(i, j, g.covariance(at[i], at[j]))
		}
	}
	var chol mat.Cholesky
	for jitter := 1e-9 * g.sigma2; !chol.Factorize(cov); jitter *= 10 {
		for i := range n {
			cov.SetSym(i, i, cov.At(i, i)+jitter)
		}
	}
	var low mat.TriDense
	chol.LTo(&low)
	z := make([]float64, n)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	var out mat.VecDense
	out.MulVec(&low, mat.NewVecDense(n, z))
	return out.RawVector().Data
}
