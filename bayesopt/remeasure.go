package bayesopt

import "math"

// 1/repeatShare of a known budget may go to repetitions: three of a dozen
// trials leave nine configurations.
const repeatShare = 4

// again suggests a repetition if its expected improvement of the choice of the
// best is at least least, a share of the objective, and more than the value of
// the best new trial, whose logarithm is worth.
func (p *Problem) again(post *Posterior, worth, least float64) (Suggestion, bool) {
	repeats := 1
	for _, n := range p.looks {
		repeats += max(0, n-1)
	}
	useful := p.Options.Noisy && p.bestIndex >= 0 && p.Options.Objective != Accuracy
	if !useful || p.Options.Once || p.Options.Trials > 0 && repeatShare*repeats > p.Options.Trials {
		return Suggestion{}, false
	}
	pick, gain := p.mostTelling(post)
	if gain < least || math.Log(gain)-p.dearness(post)(pick, p.belief(post, pick)) <= worth {
		return Suggestion{}, false
	}
	s := p.Suggest(pick, post, "again: a repetition is expected to improve the choice of the best by "+shareText(gain))
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
