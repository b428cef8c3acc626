package bayesopt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// minRecord is the least number of scored predictions before a search
	// stops.
	minRecord = 4
	// coveredSD is the standard deviation at which Accuracy stops: every
	// candidate's step time within ±8 % (90 % interval).
	coveredSD = 0.05
	// jointCandidates bounds the candidates drawn jointly, the likeliest to be
	// better; jointDraws is the number of joint draws of all members.
	jointCandidates = 64
	jointDraws      = 1024
)

// shouldStop returns the reason to end the search, "" to go on: something
// better by the target is improbable, by draws from the posterior with widths
// calibrated on the run's record.
func (p *Problem) shouldStop(post *Posterior, c choice) string {
	if len(post.record) < minRecord {
		return ""
	}
	switch {
	case p.Options.Objective == Accuracy:
		if c.widest >= coveredSD {
			return ""
		}
		return fmt.Sprintf("stop after %d trials: the step time of every candidate is known to ±%.1f %% or better (90 %% interval)",
			p.Trials, 100*math.Expm1(1.645*c.widest))
	case p.bestIndex < 0:
		if p.Options.Deadline == 0 || c.meets >= p.Options.Constants.StopChance {
			return ""
		}
		return fmt.Sprintf("stop after %d trials: none meets the deadline of %.4g s, and no candidate has a chance of %.2g %% to (largest: %.2g %%)",
			p.Trials, p.Options.Deadline, 100*p.Options.Constants.StopChance, 100*c.meets)
	case c.better >= p.Options.Constants.StopChance:
		return ""
	}
	return fmt.Sprintf("stop after %d trials: %s", p.Trials, p.claim(c))
}

// better returns the probability that any of the scored candidates is better
// than the best by the target, and the expected gain of the best of them, in
// nats. Responses are drawn jointly, as similar candidates correlate. If
// measurements do not scatter, the model's noise is a property of each
// candidate and is drawn too. Errors have the predicted standard deviations, but
// the tails of Student's t, each its own: any candidate may be an exception.
func (p *Problem) better(post *Posterior, best float64, verdicts []verdict) (chance, gain float64) {
	likeliest := slices.Clone(verdicts)
	slices.SortStableFunc(likeliest, func(a, b verdict) int { return cmp.Compare(b.chance, a.chance) })
	likeliest = likeliest[:min(jointCandidates, len(likeliest))]
	var points [][]float64
	for _, v := range likeliest {
		points = append(points, p.Points[v.candidate])
	}
	rng, target, freedom := p.Rand(), best-p.Options.Objective.margin(p.Options.TargetRegret), p.Options.Constants.TailFreedom
	tail := distuv.ChiSquared{K: freedom, Src: rng}
	for _, m := range post.fair {
		joint := m.gp.joint(points, rng)
		level, sample, own := joint.Mean(nil), make([]float64, len(points)), 0.0
		if !p.Options.Noisy {
			own = math.Sqrt(m.gp.NoiseVariance())
		}
		for range int(math.Round(m.share * jointDraws)) {
			joint.Rand(sample)
			least := math.Inf(1)
			for k, v := range likeliest {
				i := v.candidate
				off := (sample[k] - level[k] + own*rng.NormFloat64()) * math.Sqrt((freedom-2)/tail.Rand())
				logTime := level[k] + post.width*off + p.priorMeans[m.form].at[i]
				if rng.Float64() < p.fits[i] && logTime <= p.longest(i) {
					least = min(least, logTime+p.offset[i])
				}
			}
			if least < target {
				chance += 1. / jointDraws
			}
			gain += max(best-least, 0) / jointDraws
		}
	}
	return chance, gain
}
