package bayesopt

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"knee/internal/quantile"
)

// trialSeconds returns a prediction of the duration of a trial of candidate i
// from the posterior of its response, empty if unknown. Trials take about the
// same time (a fixed measuring window) or the same number of steps (a whole
// job, as in recorded tables): whichever varies less over the measured trials.
func (p *Problem) trialSeconds() func(i int, belief Predictive) float64 {
	var walls, steps []float64 // logarithms
	for _, m := range p.succeeded() {
		if positive(m.Wall) {
			walls, steps = append(walls, math.Log(m.Wall)), append(steps, math.Log(m.Wall/m.StepTime))
		}
	}
	wall := p.Options.TrialSeconds
	if len(walls) > 0 {
		wall = math.Exp(quantile.Median(walls))
	}
	if len(walls) < 2 || floats.Max(steps)-floats.Min(steps) >= floats.Max(walls)-floats.Min(walls) {
		return func(int, Predictive) float64 { return wall }
	}
	perTrial := math.Exp(quantile.Median(steps))
	return func(i int, belief Predictive) float64 {
		if len(belief.Mean) == 0 {
			return wall
		}
		m, _ := belief.Moments()
		return perTrial * math.Exp(min(m-p.offset[i], p.limit))
	}
}

// dearness returns ln(1 + the cost of a trial relative to one more trial of the
// best so far), the divisor of its score: among cheap trials, differences
// hardly count. It is 0 unless trials are whole jobs, whose costs vary by
// orders of magnitude.
func (p *Problem) dearness(post *Posterior) func(i int, belief Predictive) float64 {
	if !p.Options.JobTime || p.bestIndex < 0 {
		return func(int, Predictive) float64 { return 0 }
	}
	seconds, best := p.trialSeconds(), p.bestIndex
	usual := seconds(best, p.belief(post, best)) * p.hourly[best]
	return func(i int, belief Predictive) float64 { return math.Log1p(seconds(i, belief) * p.hourly[i] / usual) }
}
