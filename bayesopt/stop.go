package bayesopt

import (
	"fmt"
	"math"
)

// The stopping rule: with at least stopTrials results, stop when no candidate
// has a chance of stopChance or more of being better by worthwhile. A point
// estimate (stop when the expected improvement is small) stops far too early
// when the model is still guessing, which is what the chance accounts for.
//
// The chance was chosen among ten values from 0.5 to 7 % on recorded tables of
// which a fifth of the rows was left out at random: half of it ends few more
// searches within 5 % of the best and takes a trial longer, twice as much loses
// up to a tenth of them. The chance that any candidate is better, from joint
// draws of the posterior, ended them no better at equal numbers of trials. With
// noise, which leaves a chance to every candidate, it is twice that: with 10 %
// a twentieth more of the searches end before they have seen a good row.
const (
	worthwhile      = 0.05
	stopTrials      = 6
	stopChance      = 0.02
	stopChanceNoisy = 0.04
	// coveredSD is where Accuracy stops: every candidate's step time known to
	// ± 8 % (90 % interval).
	coveredSD = 0.05
)

// shouldStop applies the rule to what is believed about the open candidates,
// and says why it fires.
func (p *problem) shouldStop(post *Posterior, best float64, c choice) (bool, string) {
	done := 0
	for _, s := range p.standing {
		if s == tried {
			done++
		}
	}
	if done < stopTrials {
		return false, ""
	}
	limit := stopChance
	if p.opts.Noisy {
		limit = stopChanceNoisy
	}
	if p.bestIndex < 0 {
		if p.finish == nil || c.meets >= limit {
			return false, ""
		}
		return true, fmt.Sprintf("stop after %d trials: none meets the deadline of %.4g s, and no candidate has a chance of %.2g %% to (largest: %.2g %%)",
			done, p.opts.Deadline, 100*limit, 100*c.meets)
	}
	if p.opts.Objective == Accuracy {
		if c.widest >= coveredSD {
			return false, ""
		}
		return true, fmt.Sprintf("stop after %d trials: the step time of every candidate is known to ±%.1f %% or better (90 %% interval)",
			done, 100*math.Expm1(1.645*c.widest))
	}
	if c.chance >= limit {
		return false, ""
	}
	return true, fmt.Sprintf("stop after %d trials: no candidate has a chance of %.2g %% of being better by more than %.0f %% (largest: %.2g %%); estimated remaining regret %.2g %%; best is %s",
		done, 100*limit, 100*worthwhile, 100*c.chance, 100*p.regret(post, best, c.among), p.cands[p.favourite(post)])
}

// regret estimates how much better, as a fraction, the best of some open
// candidates is than the best measured: ∫ P(some candidate improves by more than z) dz, the
// candidates taken as independent, which errs on the safe side for positively
// correlated ones.
func (p *problem) regret(post *Posterior, best float64, among []int) float64 {
	const steps, reach = 64, 1.0
	var survive [steps + 1]float64 // ln P(no candidate improves by more than z)
	q, moved := post.predictor(), Predictive{}
	for _, i := range among {
		m, sd := p.shift(q.at(p.points[i]), post, i, p.offset[i], &moved).Moments()
		if m-6*sd > best {
			continue
		}
		for k := range survive {
			z := reach * float64(k) / steps
			chance := p.fits[i] * math.Exp(LogPI(m, sd, best-z))
			survive[k] += math.Log1p(-min(chance, 1-1e-12))
		}
	}
	var sum float64
	for k := range survive {
		w := 1.0
		if k == 0 || k == steps {
			w = 0.5
		}
		sum += w * -math.Expm1(survive[k])
	}
	gain := sum * reach / steps
	if p.opts.Objective.maximised() {
		return math.Expm1(gain)
	}
	return -math.Expm1(-gain)
}

// exhausted is the decision to stop because nothing is left to suggest, with a
// candidate as the best.
func (p *problem) exhausted(best int) Suggestion {
	done, running, out := 0, 0, 0
	for _, s := range p.standing {
		switch s {
		case tried:
			done++
		case inFlight:
			running++
		case excluded:
			out++
		}
	}
	reason := fmt.Sprintf("stop: candidates exhausted; of %d, %d measured, %d running, %d excluded because they would run out of memory; estimated remaining regret 0 %%",
		len(p.cands), done, running, out)
	if best >= 0 {
		reason += "; best is " + p.cands[best].String()
	}
	return p.stopped(best, reason)
}
