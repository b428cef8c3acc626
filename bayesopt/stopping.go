package bayesopt

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
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
	// better; jointDraws is the number of draws per member.
	jointCandidates = 64
	jointDraws      = 16
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

// claim formats the probability and size of an improvement.
func (p *Problem) claim(c choice) string {
	gain := math.Expm1(c.gain)
	if !p.Options.Objective.Maximised() {
		gain = -math.Expm1(-c.gain)
	}
	return fmt.Sprintf("something is better by %s with probability %s; estimated remaining regret %s", shareText(p.Options.TargetRegret), shareText(c.better), shareText(gain))
}

// shareText formats a share in per cent, below 10 % with two digits.
func shareText(share float64) string {
	if share < .1 {
		return fmt.Sprintf("%.2g %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
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
	for _, member := range post.fair {
		g := member.gp
		joint := g.joint(points, rng)
		level, sample, own := joint.Mean(nil), make([]float64, len(points)), 0.0
		if !p.Options.Noisy {
			own = math.Sqrt(g.NoiseVariance())
		}
		for range jointDraws {
			joint.Rand(sample)
			least := math.Inf(1)
			for k, v := range likeliest {
				i := v.candidate
				off := (sample[k] - level[k] + own*rng.NormFloat64()) * math.Sqrt((freedom-2)/tail.Rand())
				logTime := level[k] + post.width*off + p.priorMeans[member.form].at[i]
				if rng.Float64() < p.fits[i] && logTime <= p.longest(i) {
					least = min(least, logTime+p.offset[i])
				}
			}
			share := 1 / float64(jointDraws*len(post.fair))
			if least < target {
				chance += share
			}
			gain += share * max(best-least, 0)
		}
	}
	return chance, gain
}

// Sample draws one noise-free function from the posterior and returns its
// values at the points. The cost is cubic in their number.
func (g *GP) Sample(points [][]float64, rng *rand.Rand) []float64 {
	return g.joint(points, rng).Rand(nil)
}

// joint returns the posterior distribution of the responses at some inputs.
func (g *GP) joint(points [][]float64, rng *rand.Rand) *distmv.Normal {
	n := len(points)
	level, at := make([]float64, n), make([]whitened, n)
	for k, x := range points {
		level[k], at[k] = g.whiten(x)
	}
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			cov.SetSym(i, j, g.covariance(at[i], at[j]))
		}
	}
	joint, ok := distmv.NewNormal(level, cov, rng)
	for jitter := 1e-9 * g.sigma2; !ok; jitter *= 10 {
		for i := range n {
			cov.SetSym(i, i, cov.At(i, i)+jitter)
		}
		joint, ok = distmv.NewNormal(level, cov, rng)
	}
	return joint
}

// Exhausted returns the decision to stop because no candidate is left; best is
// the best candidate, −1 for none.
func (p *Problem) Exhausted(best int) Suggestion {
	reason := fmt.Sprintf("stop: candidates exhausted, all %d measured or running", len(p.cands))
	if p.Options.Objective != Accuracy {
		reason += "; estimated remaining regret 0 %"
	}
	return p.Stopped(best, reason)
}

// Stopped returns the decision to stop with best as the best candidate, −1 for
// none. Under the objective accuracy the reason names no best.
func (p *Problem) Stopped(best int, reason string) Suggestion {
	s := Suggestion{Stop: true, Index: -1, Best: best, Reason: reason}
	if best >= 0 {
		s.Config = p.cands[best]
		if p.Options.Objective != Accuracy {
			s.Reason += "; best is " + s.Config.String()
		}
	}
	return s
}
