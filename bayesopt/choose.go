package bayesopt

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/internal/list"
	"knee/internal/parallel"
	"knee/internal/quantile"
)

const (
	// screenAbove is the number of predictions, candidates × members, above which a table
	// is screened: 10⁵ candidates then take less than a second instead of a minute.
	screenAbove = 30_000
	// screenMembers likeliest members screen a large table; screenKeep candidates are kept.
	screenMembers = 3
	screenKeep    = 384
	// parallelBatch is the number of candidates that a processor takes at a time.
	parallelBatch = 256
)

// choice is the result of scoring every open candidate.
type choice struct {
	pick   int     // candidate with the highest score
	worth  float64 // ln value of a trial of it
	better float64 // probability that a candidate is better than the best by the target
	gain   float64 // expected gain of the best candidate, in nats
	widest float64 // largest standard deviation of ln step time among candidates that probably fit
	meets  float64 // largest probability of meeting the deadline and time limit
}

// verdict is the score of one candidate.
type verdict struct {
	candidate int
	score     float64 // ln value of the trial, −Inf if 0
	chance    float64 // probability of being better than the best by the target
	sd        float64 // of ln step time
	meets     float64 // probability of being in time, see [Problem.longest]
	works     float64 // probability that the trial neither runs out of memory nor is stopped
	dear      float64 // ln of the divisor of the score, see [Problem.dearness]
}

// prefer orders candidates by verdict; ties are broken by seed.
func (p *Problem) prefer(v, w verdict) int {
	if c := cmp.Compare(v.score, w.score); c != 0 {
		return c
	}
	return cmp.Compare(p.priority(v.candidate), p.priority(w.candidate))
}

// choose scores the open candidates, at least one.
func (p *Problem) choose(post *Posterior, best float64) choice {
	open := p.Open()
	if len(open)*len(post.members) > screenAbove {
		open = p.screen(post, best, open)
	}
	verdicts := p.verdicts(post, best, open)
	if p.Options.Objective == Accuracy {
		for k, reduction := range p.varianceReduction(post, open) {
			verdicts[k].score += reduction
		}
	}
	top := slices.MaxFunc(verdicts, p.prefer)
	c := choice{pick: top.candidate, worth: top.score}
	for _, v := range verdicts {
		if c.meets = max(c.meets, v.meets); p.fits[v.candidate] >= probable {
			c.widest = max(c.widest, v.sd)
		}
	}
	if p.Options.Objective != Accuracy && p.bestIndex >= 0 {
		c.better, c.gain = p.better(post, best, verdicts)
	}
	return c
}

// verdicts scores candidates.
func (p *Problem) verdicts(post *Posterior, best float64, of []int) []verdict {
	margin := p.Options.Objective.margin(p.Options.TargetRegret)
	dearness := p.dearness(post)
	failure := 0.0 // counts only after a trial has run out of memory or time
	if !math.IsInf(p.limit, 1) || slices.ContainsFunc(p.History.Measured, func(m data.Measurement) bool { return m.Status == data.OOM }) {
		failure = p.Options.Constants.FailureCost
	}
	judge := func(i int) verdict {
		belief := p.belief(post, i)
		v := verdict{candidate: i, score: math.Log(p.fits[i])}
		_, v.sd = belief.Moments()
		if p.Options.Objective == Accuracy {
			return v // [Problem.varianceReduction] adds the score
		}
		longest := p.longest(i) + p.offset[i]
		if v.meets = belief.Below(longest); math.IsInf(best, 1) { // nothing measured is in time: maximise that probability
			v.score += math.Log(max(v.meets, math.SmallestNonzeroFloat64))
			return v
		}
		v.score += belief.Average(func(mean, sd, best float64) float64 { return logEIWithin(mean, sd, best, longest) }, best)
		v.chance = p.fits[i] * math.Exp(belief.Average(logBelow, min(best-margin, longest)))
		v.works, v.dear = p.fits[i]*belief.Below(p.limit+p.offset[i]), dearness(i, belief)
		return v
	}
	out := make([]verdict, len(of))
	parallel.Do(len(of), parallelBatch, func(k int) { out[k] = judge(of[k]) })
	if p.Options.Objective == Accuracy || math.IsInf(best, 1) {
		return out
	}
	safest := slices.Max(list.Map(out, func(v verdict) float64 { return v.works }))
	score := func(v verdict) float64 { return less(v.score, failure*(safest-v.works)) } // relative to the safest candidate
	if failure > 0 && slices.Max(list.Map(out, score)) < math.Log(p.noticeable()) {
		score = func(v verdict) float64 { // the safest may be no use: the best of what probably works
			if v.works < min(probable, safest) {
				return math.Inf(-1)
			}
			return v.score
		}
	}
	for k, v := range out {
		out[k].score = score(v) - v.dear
	}
	return out
}

// longest returns ln of the longest step time of a candidate within time limit and deadline.
func (p *Problem) longest(i int) float64 { return min(p.limit, p.latest[i]) }

// less returns ln(e^score − loss), −Inf if the loss exceeds the gain.
func less(score, loss float64) float64 {
	if share := math.Exp(math.Log(loss) - score); share < 1 {
		return score + math.Log1p(-share)
	}
	return math.Inf(-1)
}

// screen returns the best candidates by the heaviest members.
func (p *Problem) screen(post *Posterior, best float64, open []int) []int {
	few := likeliest(post.members, screenMembers)
	verdicts := p.verdicts(&Posterior{members: few, width: post.width}, best, open)
	for k := range verdicts {
		if p.Options.Objective == Accuracy {
			verdicts[k].score += 2 * math.Log(verdicts[k].sd) // variance reduction grows with variance
		}
	}
	slices.SortFunc(verdicts, func(a, b verdict) int { return p.prefer(b, a) })
	return list.Map(verdicts[:min(screenKeep, len(open))], func(v verdict) int { return v.candidate })
}

// trialSeconds returns the expected duration of a trial of candidate i: the median of the
// trials so far, which measure for about the same time; of a whole job with a posterior its
// mean or, until a time limit bounds that, median.
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

// dearness returns ln(1 + the cost of a trial relative to one more trial of the best so
// far), the divisor of its score: among cheap trials, differences hardly count. It is 0
// unless trials are whole jobs, whose costs vary by orders of magnitude.
func (p *Problem) dearness(post *Posterior) func(i int, belief Predictive) float64 {
	if !p.Options.JobTime || p.bestIndex < 0 {
		return func(int, Predictive) float64 { return 0 }
	}
	usual := p.trialSeconds(p.bestIndex, p.belief(post, p.bestIndex)) * p.hourly[p.bestIndex]
	return func(i int, belief Predictive) float64 {
		return math.Log1p(p.trialSeconds(i, belief) * p.hourly[i] / usual)
	}
}
