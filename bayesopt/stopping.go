package bayesopt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/list"
)

const (
	// minRecord is the least number of scored predictions before a search stops.
	minRecord = 4
	// coveredSD is the standard deviation at which Accuracy stops: every
	// candidate's step time within ±8 % (90 % interval).
	coveredSD = 0.05
	// jointCandidates bounds the candidates drawn jointly, the likeliest to be
	// better; jointDraws is the number of joint draws of all members.
	jointCandidates = 64
	jointDraws      = 1024
)

// shouldStop returns the reason to end the search, "" to go on: something better by the
// target is improbable.
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

// better returns the probability that any of the scored candidates is better than the best
// by the target, and the expected gain of the best of them, in nats. Responses and what
// fits are drawn jointly, as similar candidates correlate. Errors have the predicted
// standard deviations, but the tails of Student's t, as any candidate may be an exception.
func (p *Problem) better(post *Posterior, best float64, verdicts []verdict) (chance, gain float64) {
	likeliest := slices.Clone(verdicts)
	slices.SortStableFunc(likeliest, func(a, b verdict) int { return cmp.Compare(b.chance, a.chance) })
	likeliest = likeliest[:min(jointCandidates, len(likeliest))]
	of := list.Map(likeliest, func(v verdict) int { return v.candidate })
	points := list.Map(of, func(i int) []float64 { return p.Points[i] })
	rng, target, freedom := p.Rand(), best-p.Options.Objective.margin(p.Options.TargetRegret), p.Options.Constants.TailFreedom
	tail := distuv.ChiSquared{K: freedom, Src: rng}
	fitting := p.fitting(of, rng)
	for _, m := range post.fair {
		joint := m.gp.joint(points, rng)
		level, sample := joint.Mean(nil), make([]float64, len(points))
		for range int(math.Round(m.share * jointDraws)) {
			joint.Rand(sample)
			least, fits := math.Inf(1), fitting()
			for k, i := range of {
				off := (sample[k] - level[k]) * math.Sqrt((freedom-2)/tail.Rand())
				logTime := level[k] + post.width*off + p.priorMeans[m.form].at[i]
				if fits[k] && logTime <= p.longest(i) {
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

// second is the choice by the draws of a second model, which knows what else a job may do
// between and beyond few trials; ok is false where it cannot predict all candidates.
func (p *Problem) second() (c choice, ok bool) {
	open := p.Open()
	of := list.Map(open, func(i int) data.Config { return p.cands[i] })
	var measured []int
	for i := range p.cands {
		if p.standing[i] == tried && p.looks[i] > 0 {
			measured, of = append(measured, i), append(of, p.cands[i])
		}
	}
	ln, _, err := p.Options.Model(p.succeeded(), of)
	if err != nil || len(measured) == 0 {
		return c, false
	}
	n, margin := len(ln[0]), p.Options.Objective.margin(p.Options.TargetRegret)
	gains := make([]float64, len(open))
	for d := range n {
		best, better, most := math.Inf(1), 0., 0.
		for k, i := range measured {
			if own := ln[len(open)+k][d]; own <= p.longest(i) {
				best = min(best, own+p.offset[i])
			}
		}
		for k, i := range open {
			gain := best - ln[k][d] - p.offset[i]
			if gain <= 0 || math.IsInf(gain, 1) || ln[k][d] > p.longest(i) { // infinite: nothing measured is in time
				continue
			}
			gains[k] += p.fits[i] * gain / float64(n)
			if most = max(most, p.fits[i]*gain); gain > margin {
				better = max(better, p.fits[i])
			}
		}
		c.better, c.gain = c.better+better/float64(n), c.gain+most/float64(n)
	}
	k := p.Best(open, gains)
	c.pick, c.worth = open[k], math.Log(gains[k])
	return c, true
}

// 1/repeatShare of the budget, or of the trials so far where it is not known, may go to
// repetitions; all of a known budget where no other candidates are left.
const repeatShare = 4

// noticeable is the smallest expected improvement that counts, as a share of the objective:
// repetitions must bring more, and new trials unless they probably work.
func (p *Problem) noticeable() float64 {
	return p.Options.Constants.StopChance * p.Options.TargetRegret
}

// again suggests a repetition if its expected improvement of the choice of the best is
// noticeable, and more than the value of the best new trial, whose logarithm is worth.
func (p *Problem) again(post *Posterior, worth float64) (Suggestion, bool) {
	repeats := 1 + list.Sum(p.looks, func(n int) int { return max(0, n-1) })
	useful := post != nil && p.Options.Noisy && p.bestIndex >= 0 && p.Options.Objective != Accuracy
	nothingElse := p.Options.Trials > 0 && len(p.Open())+len(p.running) == 0
	if !useful || p.Options.Once || !nothingElse && repeatShare*repeats > cmp.Or(p.Options.Trials, p.Trials) {
		return Suggestion{}, false
	}
	pick, does := p.Favourite(post), "shows by how much measurements differ"
	if !nothingElse || repeats > 1 { // else a choice among single measurements is known as well as they repeat
		var gain float64
		pick, gain = p.mostTelling(post)
		if gain < p.noticeable() || math.Log(gain)-p.dearness(post)(pick, p.belief(post, pick)) <= worth {
			return Suggestion{}, false
		}
		does = "is expected to improve the choice of the best by " + shareText(gain)
	}
	s := p.Suggest(pick, post, "again: a repetition "+does)
	s.Remeasure, s.Best = true, p.Favourite(post)
	return s, true
}

// mostTelling returns the measured candidate whose repetition is expected to improve the
// choice of the best most, and that improvement as a fraction of the objective. A
// repetition changes the posterior mean of a candidate of variance v by a normal amount of
// variance v²/(v + noise); the choice improves by the amount by which a rival passes the
// favourite, or the favourite falls behind the second: the knowledge gradient for
// independent candidates (Frazier, Powell and Dayanik 2008, section 4). A clear winner is
// not repeated, and nearly equal rivals seldom.
func (p *Problem) mostTelling(post *Posterior) (pick int, gain float64) {
	favourite, noise := p.Favourite(post), post.NoiseSD()
	best, second := p.expected(post, favourite), math.Inf(1)
	looked, mean, sd := p.looked(post)
	for k, i := range looked {
		if i != favourite {
			second = min(second, mean[k])
		}
	}
	gains := make([]float64, len(looked))
	for k, i := range looked {
		behind := mean[k] - best
		if i == favourite {
			behind = second - best
		}
		gains[k] = math.Exp(LogEI(behind, sd[k]*sd[k]/math.Hypot(sd[k], noise), 0))
	}
	k := p.Best(looked, gains)
	return looked[k], gains[k]
}

// looked returns the candidates with a time, but for those expected to miss the deadline,
// and the moments of their responses.
func (p *Problem) looked(post *Posterior) (of []int, mean, sd []float64) {
	favourite := p.Favourite(post)
	for i := range p.cands {
		if p.standing[i] != tried || p.looks[i] == 0 {
			continue
		}
		if m, s := p.belief(post, i).Moments(); i == favourite || m-p.offset[i] <= p.latest[i] {
			of, mean, sd = append(of, i), append(mean, m), append(sd, s)
		}
	}
	return of, mean, sd
}

// regret returns the expected regret of the favourite among the measured candidates, as
// a share of the objective: 0 where measurements do not scatter, NaN if not known.
func (p *Problem) regret(post *Posterior) (regret float64) {
	favourite := p.Favourite(post)
	switch {
	case !p.Options.Noisy:
		return 0
	case post == nil || favourite < 0:
		return math.NaN()
	}
	looked, mean, sd := p.looked(post)
	rng := p.Rand()
	for range jointDraws {
		least, own := math.Inf(1), 0.
		for k, i := range looked {
			v := mean[k] + sd[k]*rng.NormFloat64()
			if least = min(least, v); i == favourite {
				own = v
			}
		}
		regret += math.Expm1(own-least) / jointDraws
	}
	return regret
}
