package bayesopt

import (
	"fmt"
	"math"
	"slices"
)

const (
	// maxLooks is how often one candidate is measured at most.
	maxLooks = 3
	// doubtfulZ is the standardised leave-one-out residual beyond which a
	// measurement is looked at again: 2 % of good ones exceed it.
	doubtfulZ = 2.33
	// finalists is how many of the best candidates are compared by more than
	// one look each before a noisy search stops.
	finalists = 3
)

// doubt suggests to measure a candidate again whose result the others
// contradict, if which candidate is best depends on it. A single outlier in
// twenty trials at 10 % noise is to be expected, and would otherwise be
// reported as the best, or hide it.
func (p *problem) doubt(post *Posterior) (Suggestion, bool) {
	if !p.opts.Noisy || p.bestIndex < 0 {
		return Suggestion{}, false
	}
	best := p.expected(post, p.favourite(post))
	margin := p.opts.Objective.margin(worthwhile)
	pick, worst := -1, doubtfulZ
	for k, o := range p.seen {
		if o.index < 0 || !o.feasible || p.looks[o.index] >= maxLooks {
			continue
		}
		left, z := p.leaveOneOut(post, k)
		// Too good to be true where it is best, or too bad where it would be.
		matters := z < 0 && o.index == p.favourite(post) || z > 0 && left < best-margin
		if math.Abs(z) > worst && matters {
			pick, worst = o.index, math.Abs(z)
		}
	}
	if pick < 0 {
		return Suggestion{}, false
	}
	return p.again(pick, post, fmt.Sprintf("measured again: %.1f standard deviations from what the other trials say", worst)), true
}

// leaveOneOut returns the response that the other observations predict for
// observation k, and the standardised difference of the observed one
// (Rasmussen and Williams 2006, eq. 5.12), averaged over the members.
func (p *problem) leaveOneOut(post *Posterior, k int) (predicted, z float64) {
	o := p.seen[k]
	for m, g := range post.members {
		variance := 1 / g.precision(k) // in units of σ²
		residual := g.alpha[k] * variance
		predicted += post.weights[m] * (o.logTime - residual + p.offset[o.index])
		z += post.weights[m] * residual / math.Sqrt(g.sigma2*variance)
	}
	return predicted, z
}

// precision returns the k-th diagonal element of (K/σ²)⁻¹.
func (g *GP) precision(k int) float64 {
	n := len(g.low)
	v := make([]float64, n) // L⁻¹e_k
	var sum float64
	for i := k; i < n; i++ {
		e := 0.0
		if i == k {
			e = 1
		}
		for j := k; j < i; j++ {
			e -= g.low[i][j] * v[j]
		}
		v[i] = e / g.low[i][i]
		sum += v[i] * v[i]
	}
	return sum
}

// lastLook suggests, when a noisy search is about to stop, to measure one of
// the best candidates again. One look at each picks the wrong one of two that
// are nearly as good in a third of the searches. The candidates compared are
// the best few whose order is not certain; of those the least known goes
// first.
func (p *problem) lastLook(post *Posterior) (Suggestion, bool) {
	if !p.opts.Noisy {
		return Suggestion{}, false
	}
	type standing struct {
		i        int
		mean, sd float64
	}
	var known []standing
	for i := range p.cands {
		if p.standing[i] == tried && p.looks[i] > 0 {
			m, sd := p.belief(post, i).Moments()
			known = append(known, standing{i, m, sd})
		}
	}
	slices.SortStableFunc(known, func(a, b standing) int {
		switch {
		case a.mean < b.mean:
			return -1
		case a.mean > b.mean:
			return 1
		}
		return 0
	})
	pick, widest := -1, 0.0
	for k, c := range known[:min(finalists, len(known))] {
		lead := known[min(1, len(known)-1)].mean - known[0].mean
		if k > 0 {
			lead = c.mean - known[0].mean
		}
		sd := math.Hypot(c.sd, known[0].sd)
		if k == 0 {
			sd = c.sd
		}
		if p.looks[c.i] < maxLooks && sd > lead && c.sd > widest {
			pick, widest = c.i, c.sd
		}
	}
	if pick < 0 {
		return Suggestion{}, false
	}
	return p.again(pick, post, fmt.Sprintf("measured again before stopping: known to ±%.0f %%, and the order of the best is not certain", 100*math.Expm1(1.645*widest))), true
}

// again suggests to measure candidate i once more.
func (p *problem) again(i int, post *Posterior, why string) Suggestion {
	s := p.suggest(i, post, why)
	s.Remeasure, s.Best = true, p.favourite(post)
	return s
}
