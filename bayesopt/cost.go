package bayesopt

import (
	"math"

	"knee/internal/quantile"
)

// trialSeconds returns the expected duration of a trial of candidate i: that of a
// whole job from the posterior of its response, if not empty, else the median of
// the trials so far, which measure for about the same time. Of a whole job it is
// the median until a time limit is known, as no other number bounds the mean.
func (p *Problem) trialSeconds(i int, belief Predictive) float64 {
	if p.Options.JobTime && len(belief.Mean) > 0 {
		if !math.IsInf(p.limit, 1) {
			return belief.stopped(p.limit+p.offset[i]) * math.Exp(-p.offset[i])
		}
		m, _ := belief.Moments()
		return math.Exp(m - p.offset[i])
	}
	var walls []float64
	for _, m := range p.succeeded() {
		if positive(m.Wall) {
			walls = append(walls, m.Wall)
		}
	}
	if len(walls) == 0 {
		return p.Options.TrialSeconds
	}
	return quantile.Median(walls)
}

// dearness returns ln(1 + the cost of a trial relative to one more trial of the
// best so far), the divisor of its score: among cheap trials, differences
// hardly count. It is 0 unless trials are whole jobs, whose costs vary by
// orders of magnitude.
func (p *Problem) dearness(post *Posterior) func(i int, belief Predictive) float64 {
	if !p.Options.JobTime || p.bestIndex < 0 {
		return func(int, Predictive) float64 { return 0 }
	}
	usual := p.trialSeconds(p.bestIndex, p.belief(post, p.bestIndex)) * p.hourly[p.bestIndex]
	return func(i int, belief Predictive) float64 {
		return math.Log1p(p.trialSeconds(i, belief) * p.hourly[i] / usual)
	}
}
