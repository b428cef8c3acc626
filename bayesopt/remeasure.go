package bayesopt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	// maxLooks is how often one candidate is measured at most: once, and
	// three times again.
	maxLooks = 4
	// doubtfulZ is the standardised leave-one-out residual beyond which a
	// measurement is looked at again: 2 % of good ones exceed it.
	doubtfulZ = 2.33
	// finalists is how many rivals of the best candidate are compared with it
	// by more than one look each before a noisy search stops, and rivalChance
	// the chance of being better by a worthwhile margin that makes a rival.
	finalists   = 3
	rivalChance = 0.10
	// repeatShare is the part of a known budget, 1/repeatShare, that may go
	// into measuring again: of a dozen trials three, so that at least nine
	// configurations are seen.
	repeatShare = 4
)

// mayRepeat reports whether a trial may be spent on a candidate that was
// measured before.
func (p *problem) mayRepeat() bool {
	if !p.opts.Noisy || p.opts.Once {
		return false
	}
	if p.opts.Trials == 0 {
		return true
	}
	repeats := 0
	for _, n := range p.looks {
		repeats += max(0, n-1)
	}
	return repeatShare*(repeats+1) <= p.opts.Trials
}

// doubt suggests to measure a candidate again whose result the others
// contradict, if which candidate is best depends on it. A single outlier in
// twenty trials at 10 % noise is to be expected, and would otherwise be
// reported as the best, or hide it.
func (p *problem) doubt(post *Posterior) (Suggestion, bool) {
	if !p.mayRepeat() || p.bestIndex < 0 {
		return Suggestion{}, false
	}
	favourite := p.favourite(post)
	best := p.expected(post, favourite)
	margin := p.opts.Objective.margin(worthwhile)
	pick, worst := -1, doubtfulZ
	for k, o := range p.seen {
		if o.index < 0 || !o.feasible || p.looks[o.index] >= maxLooks {
			continue
		}
		left, z := p.leaveOneOut(post, k)
		// Too good to be true where it is best, or too bad where it would be.
		matters := z < 0 && o.index == favourite || z > 0 && left < best-margin
		if math.Abs(z) > worst && matters {
			pick, worst = o.index, math.Abs(z)
		}
	}
	if pick < 0 {
		return Suggestion{}, false
	}
	return p.again(pick, post, fmt.Sprintf("again: its result is %.1f standard deviations from what the other trials say", worst)), true
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

// lastLook suggests, when a noisy search is about to stop, to measure the best
// candidate or one of its rivals again. One look at each picks the wrong one
// of two that are nearly as good in a third of the searches. Of the candidate
// and its likeliest rival the one with fewer looks goes first.
func (p *problem) lastLook(post *Posterior) (Suggestion, bool) {
	favourite := p.favourite(post)
	if !p.mayRepeat() || favourite < 0 {
		return Suggestion{}, false
	}
	for _, r := range p.rivals(post, favourite) {
		pick := favourite
		if p.looks[r.index] < p.looks[favourite] || p.looks[favourite] >= maxLooks {
			pick = r.index
		}
		if p.looks[pick] < maxLooks {
			return p.again(pick, post, fmt.Sprintf("again, before stopping: %.0f %% chance that %s is better than %s by more than %.0f %%",
				100*r.chance, p.cands[r.index], p.cands[favourite], 100*worthwhile)), true
		}
	}
	return Suggestion{}, false
}

// rival is a measured candidate that may be better than the one taken for the
// best.
type rival struct {
	index  int
	chance float64 // of being better by a worthwhile margin
}

// rivals returns the likeliest rivals of a candidate, the likeliest first.
func (p *problem) rivals(post *Posterior, favourite int) []rival {
	margin := p.opts.Objective.margin(worthwhile)
	best, bestSD := p.belief(post, favourite).Moments()
	var all []rival
	for i := range p.cands {
		if i == favourite || p.standing[i] != tried || p.looks[i] == 0 {
			continue
		}
		m, sd := p.belief(post, i).Moments()
		if chance := math.Exp(LogPI(m, math.Hypot(sd, bestSD), best-margin)); chance >= rivalChance {
			all = append(all, rival{i, chance})
		}
	}
	slices.SortStableFunc(all, func(a, b rival) int {
		if c := cmp.Compare(b.chance, a.chance); c != 0 {
			return c
		}
		return cmp.Compare(p.priority(b.index), p.priority(a.index))
	})
	return all[:min(finalists, len(all))]
}

// again suggests to measure candidate i once more.
func (p *problem) again(i int, post *Posterior, why string) Suggestion {
	s := p.suggest(i, post, why)
	s.Remeasure, s.Best = true, p.favourite(post)
	return s
}
