package bayesopt

import (
	"cmp"
	"math"
)

// 1/repeatShare of the budget, or of the trials so far where it is not known, may go to
// repetitions: three of a dozen trials leave nine configurations. Where no others are
// left, all of a known budget may.
const repeatShare = 4

// again suggests a repetition if its expected improvement of the choice of the
// best is at least least, a share of the objective, and more than the value of
// the best new trial, whose logarithm is worth.
func (p *Problem) again(post *Posterior, worth, least float64) (Suggestion, bool) {
	repeats := 1
	for _, n := range p.looks {
		repeats += max(0, n-1)
	}
	useful := post != nil && p.Options.Noisy && p.bestIndex >= 0 && p.Options.Objective != Accuracy
	nothingElse := p.Options.Trials > 0 && len(p.Open())+len(p.running) == 0
	if !useful || p.Options.Once || !nothingElse && repeatShare*repeats > cmp.Or(p.Options.Trials, p.Trials) {
		return Suggestion{}, false
	}
	pick, does := p.Favourite(post), "shows by how much measurements differ"
	if !nothingElse || repeats > 1 { // else a choice among single measurements is known as well as they repeat
		var gain float64
		pick, gain = p.mostTelling(post)
		if gain < least || math.Log(gain)-p.dearness(post)(pick, p.belief(post, pick)) <= worth {
			return Suggestion{}, false
		}
		does = "is expected to improve the choice of the best by " + shareText(gain)
	}
	s := p.Suggest(pick, post, "again: a repetition "+does)
	s.Remeasure, s.Best = true, p.Favourite(post)
	return s, true
}

// mostTelling returns the measured candidate whose repetition is expected to
// improve the choice of the best most, and that improvement as a fraction of
// the objective. A repetition changes the posterior mean of a candidate of
// variance v by a normal amount of variance v²/(v + noise); the choice improves by the amount by which a rival passes the
// favourite, or the favourite falls behind the second: the knowledge gradient
// for independent candidates (Frazier, Powell and Dayanik 2008, section 4). A
// clear winner is not repeated, and nearly equal rivals seldom.
func (p *Problem) mostTelling(post *Posterior) (pick int, gain float64) {
	favourite, noise := p.Favourite(post), post.NoiseSD()
	best, second := p.expected(post, favourite), math.Inf(1)
	var looked []int
	var behind, moves []float64
	for i := range p.cands {
		if p.standing[i] != tried || p.looks[i] == 0 {
			continue
		}
		m, sd := p.belief(post, i).Moments()
		looked, behind, moves = append(looked, i), append(behind, m-best), append(moves, sd*sd/math.Hypot(sd, noise))
		if i != favourite {
			second = min(second, m)
		}
	}
	gains := make([]float64, len(looked))
	for k, i := range looked {
		if i == favourite {
			behind[k] = second - best
		}
		gains[k] = math.Exp(LogEI(behind[k], moves[k], 0))
	}
	k := p.Best(looked, gains)
	return looked[k], gains[k]
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
	mean, sd := map[int]float64{}, map[int]float64{}
	var measured []int
	for i := range p.cands {
		if p.standing[i] == tried && p.looks[i] > 0 {
			mean[i], sd[i] = p.belief(post, i).Moments()
			measured = append(measured, i)
		}
	}
	rng := p.Rand()
	for range jointDraws {
		least, own := math.Inf(1), 0.
		for _, i := range measured {
			v := mean[i] + sd[i]*rng.NormFloat64()
			if least = min(least, v); i == favourite {
				own = v
			}
		}
		regret += math.Expm1(own-least) / jointDraws
	}
	return regret
}
