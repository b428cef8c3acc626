package bayesopt

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/internal/parallel"
)

const (
	// screenAbove is the number of predictions, candidates × members, above
	// which a table is screened first: a table of 10⁵ candidates then takes
	// less than a second and not a minute.
	screenAbove = 30_000
	// screenMembers is the number of members, the most plausible ones, that
	// screen a large table, and screenKeep the number of candidates that all
	// members then look at.
	screenMembers = 3
	screenKeep    = 384
)

// choice is the outcome of looking at every open candidate.
type choice struct {
	pick   int     // candidate that is most worth a trial
	worth  float64 // logarithm of what a trial of it is worth
	better float64 // probability that something is better than the best by the target
	gain   float64 // how much better the best of them is expected to be, in nats
	widest float64 // largest standard deviation of ln step time among those that probably fit
	meets  float64 // largest probability of being in time
}

// verdict is the outcome of looking at one.
type verdict struct {
	score  float64 // logarithm of what the trial is worth, −Inf if it is worth nothing
	worth  float64 // the same, not its logarithm: below 0 where failing costs more than is to be gained
	chance float64 // of being better than the best by the target
	sd     float64 // of ln step time
	meets  float64 // probability of being in time; see [Problem.longest]
	works  float64 // probability that the trial neither fails nor is stopped
	dear   float64 // logarithm of what its worth is divided by; see [Problem.dearness]
}

// compare orders verdicts by what the trial is worth.
func (v verdict) compare(w verdict) int {
	return cmp.Or(cmp.Compare(v.score, w.score), cmp.Compare(v.worth, w.worth))
}

// prefer orders candidates by their verdicts, ties by seed.
func (p *Problem) prefer(i int, v verdict, j int, w verdict) int {
	if c := v.compare(w); c != 0 {
		return c
	}
	return cmp.Compare(p.priority(i), p.priority(j))
}

// choose scores the open candidates, of which there is at least one.
func (p *Problem) choose(post *Posterior, best float64) choice {
	open := p.Open()
	if len(open)*len(post.members) > screenAbove {
		open = p.screen(post, best, open)
	}
	verdicts := p.verdicts(post, best, open)
	var special []float64
	if p.opts.Objective == Accuracy {
		special = p.varianceReduction(post, open)
	}
	c := choice{pick: -1}
	var top verdict
	chances := make([]float64, len(verdicts))
	for k, v := range verdicts {
		if special != nil {
			v.score += special[k]
		}
		i := open[k]
		chances[k], c.meets = v.chance, max(c.meets, v.meets)
		if p.fits[i] >= probable {
			c.widest = max(c.widest, v.sd)
		}
		if c.pick < 0 || p.prefer(i, v, c.pick, top) > 0 {
			c.pick, top = i, v
		}
	}
	c.worth = top.score
	if p.opts.Objective != Accuracy && p.bestIndex >= 0 {
		c.better, c.gain = p.better(post, best, open, chances)
	}
	return c
}

// verdicts looks at candidates.
func (p *Problem) verdicts(post *Posterior, best float64, of []int) []verdict {
	margin := p.opts.Objective.margin(p.opts.TargetRegret)
	dearness := p.dearness(post)
	failure := 0.0 // until a trial has failed so, a risk is only worth less
	if !math.IsInf(p.limit, 1) || slices.ContainsFunc(p.measured, func(m data.Measurement) bool { return m.Status == data.OOM }) {
		failure = p.opts.Constants.FailureCost
	}
	judge := func(i int, q *predictor, moved *Predictive) verdict {
		belief := p.shift(q.at(p.points[i]), post, i, p.offset[i], moved)
		v := verdict{score: math.Log(p.fits[i])}
		_, v.sd = belief.Moments()
		if p.opts.Objective == Accuracy {
			return v // what a trial there teaches is added by [Problem.varianceReduction]
		}
		longest := p.longest(i) + p.offset[i]
		if v.meets = belief.Below(longest); math.IsInf(best, 1) { // nothing is in time yet, and that alone counts
			v.score += math.Log(max(v.meets, math.SmallestNonzeroFloat64))
			return v
		}
		v.score += belief.Average(func(mean, sd, best float64) float64 { return logEIWithin(mean, sd, best, longest) }, best)
		v.chance = p.fits[i] * belief.Below(min(best-margin, longest))
		v.works, v.dear = p.fits[i]*belief.Below(p.limit+p.offset[i]), dearness(i, belief)
		return v
	}
	out := make([]verdict, len(of))
	inParallel(len(of), func() func(k int) {
		q, moved := post.predictor(), Predictive{}
		return func(k int) { out[k] = judge(of[k], q, &moved) }
	})
	if p.opts.Objective == Accuracy || math.IsInf(best, 1) {
		return out
	}
	safest := 0.0
	for _, v := range out {
		safest = max(safest, v.works)
	}
	for k := range out {
		out[k].deduct(failure * (safest - out[k].works)) // the risk of the safest is that of any trial
		out[k].score -= out[k].dear
	}
	return out
}

// longest returns the logarithm of the longest step time of a candidate that is
// of use: with which a trial is not stopped and the deadline is met.
func (p *Problem) longest(i int) float64 { return min(p.limit, p.latest[i]) }

// inParallel calls work for 0 to n−1 on all processors, each with a function of
// its own.
func inParallel(n int, worker func() func(k int)) {
	_ = parallel.Each(n, 256, func() func(int) error {
		work := worker()
		return func(k int) error { work(k); return nil }
	})
}

// deduct takes the expected cost of failing off what a trial is worth.
func (v *verdict) deduct(loss float64) {
	v.worth = math.Exp(v.score) - loss
	if share := math.Exp(math.Log(loss) - v.score); share < 1 {
		v.score += math.Log1p(-share)
	} else {
		v.score = math.Inf(-1)
	}
}

// screen returns the candidates that look best to the heaviest members alone.
func (p *Problem) screen(post *Posterior, best float64, open []int) []int {
	n := min(screenMembers, len(post.members))
	few := &Posterior{members: post.members[:n], form: post.form[:n], weights: slices.Clone(post.weights[:n]), width: post.width}
	floats.Scale(1/floats.Sum(few.weights), few.weights)
	verdicts, order := p.verdicts(few, best, open), make([]int, len(open))
	for k := range order {
		if order[k] = k; p.opts.Objective == Accuracy {
			verdicts[k].score += 2 * math.Log(verdicts[k].sd) // what a trial there can teach grows with its variance
		}
	}
	slices.SortFunc(order, func(a, b int) int { return p.prefer(open[b], verdicts[b], open[a], verdicts[a]) })
	kept := make([]int, min(screenKeep, len(open)))
	for k := range kept {
		kept[k] = open[order[k]]
	}
	return kept
}

// dearness returns by what the worth of a trial is divided, as a logarithm: 1 +
// its cost relative to one more trial of the best so far, so that differences
// between cheap and cheaper trials, which are not worth any evaluation, count
// for nothing. It is 0 unless trials are whole jobs, whose costs vary by orders
// of magnitude.
func (p *Problem) dearness(post *Posterior) func(i int, belief Predictive) float64 {
	if !p.opts.JobTime || p.bestIndex < 0 {
		return func(int, Predictive) float64 { return 0 }
	}
	cost := p.costModel()
	usual := cost.relative(p, p.bestIndex, p.belief(post, p.bestIndex))
	return func(i int, belief Predictive) float64 { return math.Log1p(cost.relative(p, i, belief) / usual) }
}
