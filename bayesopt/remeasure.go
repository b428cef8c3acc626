package bayesopt

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A candidate is measured at most maxLooks times because of its result: if its
// leave-one-out residual is beyond the value that the largest of all exceeds
// with probability outlierChance.
const maxLooks, outlierChance = 4, 0.2

// 1/repeatShare of a known budget may go to repetitions: three of a dozen
// trials leave nine configurations.
const repeatShare = 4

// mayRepeat reports whether a repetition is allowed.
func (p *Problem) mayRepeat() bool {
	if !p.Options.Noisy || p.Options.Once || p.bestIndex < 0 {
		return false
	}
	repeats := 0
	for _, n := range p.looks {
		repeats += max(0, n-1)
	}
	return p.Options.Trials == 0 || repeatShare*(repeats+1) <= p.Options.Trials
}

// again suggests a repetition if its expected improvement of the choice of the
// best is at least least, a share of the objective, and more than the value of
// the best new trial, whose logarithm is worth.
func (p *Problem) again(post *Posterior, worth, least float64) (Suggestion, bool) {
	if !p.mayRepeat() {
		return Suggestion{}, false
	}
	pick, gain := p.mostTelling(post)
	if gain < least || math.Log(gain)-p.dearness(post)(pick, p.belief(post, pick)) <= worth {
		return Suggestion{}, false
	}
	return p.repeat(pick, post, "again: a repetition is expected to improve the choice of the best by "+shareText(gain)), true
}

func (p *Problem) repeat(i int, post *Posterior, why string) Suggestion {
	s := p.Suggest(i, post, why)
	s.Remeasure, s.Best = true, p.Favourite(post)
	return s
}

// mostTelling returns the measured candidate whose repetition is expected to
// improve the choice of the best most, and that improvement as a fraction of
// the objective. A repetition changes the posterior
// mean of a candidate of variance v by a normal amount of variance v²/(v +
// noise); the choice improves by the amount by which a rival passes the
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

// contradicted suggests to repeat a candidate whose result disagrees with the
// others, if that affects which is best. One outlier in twenty trials is to be
// expected at 10 % noise, and would be reported as the best, or hide it.
func (p *Problem) contradicted(post *Posterior) (Suggestion, bool) {
	if !p.mayRepeat() {
		return Suggestion{}, false
	}
	favourite := p.Favourite(post)
	best := p.expected(post, favourite)
	margin := p.Options.Objective.margin(p.Options.TargetRegret)
	pick, worst := -1, distuv.UnitNormal.Quantile(1-outlierChance/(2*float64(len(p.observations))))
	for k, o := range p.observations {
		if o.index < 0 || !o.feasible || p.looks[o.index] >= maxLooks {
			continue
		}
		left, z := p.leaveOneOut(post, k)
		// too good where it is best, or too bad where it would be best
		matters := z < 0 && o.index == favourite || z > 0 && left < best-margin
		if math.Abs(z) > worst && matters {
			pick, worst = o.index, math.Abs(z)
		}
	}
	if pick < 0 {
		return Suggestion{}, false
	}
	return p.repeat(pick, post, fmt.Sprintf("again: its result is %.1f standard deviations from the prediction of the other trials", worst)), true
}

// leaveOneOut returns the response predicted for observation k from the others,
// and the standardised residual (Rasmussen and Williams 2006, eq. 5.12),
// averaged over members with the weights given the other observations: the
// weights given all, divided by the density of observation k.
func (p *Problem) leaveOneOut(post *Posterior, k int) (predicted, z float64) {
	o := p.observations[k]
	scores, misses, logged := make([]float64, len(post.members)), make([]float64, len(post.members)), make([]float64, len(post.members))
	var sum float64
	for m, g := range post.members {
		miss, sd := g.factor.LeaveOneOut(g.y)
		sigma := sd[k] * math.Sqrt(g.sigma2)
		misses[m], scores[m] = miss[k], miss[k]/sigma
		logged[m] = math.Log(post.weights[m]) + 0.5*scores[m]*scores[m] + math.Log(sigma)
	}
	top := slices.Max(logged)
	for m := range post.members {
		w := math.Exp(logged[m] - top)
		sum += w
		predicted += w * (o.logTime - misses[m] + p.offset[o.index])
		z += w * scores[m]
	}
	return predicted / sum, z / sum
}
