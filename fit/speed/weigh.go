package speed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// weigh returns the importance weights of the proposals, posterior density over
// proposal density, truncated, and ln of the marginal likelihood: with few
// measurements the posterior is asymmetric with heavy tails.
func (q *posterior) weigh(seed uint64) (weights []float64, evidence float64) {
	t, n, p := q.task, len(q.task.rows), q.task.coords.len()
	ln := slices.Clone(designOf(designKey{seed, proposals(p), p, proposalTail(p)}).length)
	r := make([]float64, len(t.ln)+p+len(t.links))
	constant := make([]float64, len(q.nodes))
	for j, at := range q.nodes {
		constant[j] = at.ln - at.lower.LogDet()/2 - q.axes[j].LogDet()/2
	}
	for i := range ln {
		z, j := q.around(i), q.nodeOf(i)
		t.residuals(z, r)
		t.beliefs(z, r[len(t.ln):])
		q.nodes[j].lower.Whiten(r[:n])
		if t.micro != nil {
			t.micro.Whiten(r[n:len(t.ln)])
		}
		ln[i] += constant[j] - blas64.Dot(vec(r), vec(r))/2
	}
	weights, evidence = importance(ln, 2)
	// The constants of the t distribution and of the normal prior.
	tail, axes := proposalTail(p), float64(p)
	over, _ := math.Lgamma((tail + axes) / 2)
	under, _ := math.Lgamma(tail / 2)
	return weights, evidence + axes/2*math.Log(tail/2) + under - over
}

// importance returns the weights of proposals from the logarithm of posterior
// density over proposal density, truncated at √n times their mean (Ionides,
// "Truncated Importance Sampling", 2008), and ln of the mean of those. It changes
// ln. Truncated twice, a single proposal cannot decide which member has the
// evidence, while a few that agree still count.
func importance(ln []float64, truncations int) (w []float64, mean float64) {
	for i, v := range ln {
		if math.IsNaN(v) {
			ln[i] = math.Inf(-1)
		}
	}
	top := slices.Max(ln)
	for i := range ln {
		ln[i] = math.Exp(ln[i] - top)
	}
	for range truncations {
		most := blas64.Asum(vec(ln)) / math.Sqrt(float64(len(ln)))
		for i := range ln {
			ln[i] = min(ln[i], most)
		}
	}
	return ln, top + math.Log(blas64.Asum(vec(ln))/float64(len(ln)))
}
