package bayesopt

import "math"

// accuracyTargets bounds the candidates whose variance reduction the objective
// accuracy computes: an even sample represents a large table.
const accuracyTargets = 128

// probable is the least probability of fitting at which a candidate counts as
// usable.
const probable = 0.5

// varianceReduction returns, for each open candidate, ln of the expected
// reduction of the variance of ln step time by a trial of it, averaged over the
// usable candidates:
//
//	gain(i) = mean_j cov(i, j)² / (var(i) + noise)
//
// This is active learning after Cohn ("Neural network exploration using optimal
// experiment design", 1996), Ernest's experiment design (NSDI'16, section 4)
// made sequential. The candidate of largest variance, a simpler choice, is at
// an extreme of the space and says little about the rest. The cost of a trial
// is ignored: divided by cost, eight trials of the recorded tables cost half as
// much and the model fitted to them is a sixth worse.
func (p *Problem) varianceReduction(post *Posterior, open []int) []float64 {
	var targets []int
	for i := 0; i < len(p.fits); i += 1 + len(p.fits)/accuracyTargets {
		if p.fits[i] >= probable {
			targets = append(targets, i)
		}
	}
	gain := make([]float64, len(open))
	for _, m := range post.members {
		at := make([]whitened, len(targets))
		for k, j := range targets {
			_, at[k] = m.gp.whiten(p.Points[j])
		}
		for k, i := range open {
			_, x := m.gp.whiten(p.Points[i])
			gain[k] += m.share * m.gp.reduction(x, at)
		}
	}
	for k := range gain {
		gain[k] = math.Log(gain[k])
	}
	return gain
}

// reduction returns the mean reduction of variance at the targets by one
// observation at x.
func (g *GP) reduction(x whitened, targets []whitened) float64 {
	var sum float64
	for _, t := range targets {
		c := g.covariance(x, t)
		sum += c * c
	}
	return sum / (max(g.covariance(x, x), 0) + g.NoiseVariance()) / float64(len(targets))
}
