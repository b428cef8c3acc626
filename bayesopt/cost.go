package bayesopt

import (
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// trialCost predicts the duration of a trial. Trials take about the same time
// (a fixed measuring window) or the same number of steps (a whole job, as in
// recorded tables): whichever varies less over the measured trials is used.
type trialCost struct {
	wall  float64 // median seconds per trial
	steps float64 // median trial seconds ÷ step seconds; 0 if wall is used
}

// trialCost fits the duration of trials to those measured.
func (p *Problem) trialCost() trialCost {
	var walls, ratios []float64
	for _, m := range p.History.Measured {
		if m.Status == data.OK && positive(m.Wall) {
			walls = append(walls, math.Log(m.Wall))
			ratios = append(ratios, math.Log(m.Wall/m.StepTime))
		}
	}
	if len(walls) == 0 {
		return trialCost{wall: p.Options.TrialSeconds}
	}
	c := trialCost{wall: math.Exp(quantile.Median(walls))}
	if len(walls) > 1 && spanOf(ratios) < spanOf(walls) {
		c.steps = math.Exp(quantile.Median(ratios))
	}
	return c
}

// seconds returns the expected duration of a trial of candidate i; belief is
// the posterior of its response, empty if unknown.
func (c trialCost) seconds(p *Problem, i int, belief Predictive) float64 {
	if c.steps == 0 || len(belief.Mean) == 0 {
		return c.wall
	}
	m, _ := belief.Moments()
	return c.steps * math.Exp(min(m-p.offset[i], p.limit))
}

func spanOf(v []float64) float64 { return slices.Max(v) - slices.Min(v) }
