package bayesopt

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
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

const (
	// doubtful is the chance of fitting into memory below which a candidate is
	// tried only when no other is left: no gain makes up for what is known to
	// fail. Between a batch that fitted and one that did not it leaves the
	// lower two thirds of the logarithmic interval.
	doubtful = 0.1
	// failureLoss is what running out of memory is taken to cost, as a fraction
	// of the objective: so much has to be gained on average by candidates that
	// fit with even odds. What is tried when little is left to be gained then
	// fits. (0.1, 0.2 and 0.5 % give the same searches.)
	failureLoss = 0.002
	// lastResort is taken off the score of candidates that are not worth it; it
	// is more than scores differ by otherwise.
	lastResort = 1e9
)

// worthTheRisk reports whether the expected improvement makes up for the
// chance of running out of memory.
func worthTheRisk(belief Predictive, best, fits float64) bool {
	if fits == 1 || math.IsInf(best, 1) {
		return true
	}
	return math.Log(fits)+belief.average(LogEI, best) >= math.Log(failureLoss*(1-fits))
}

// choice is the outcome of looking at every open candidate.
type choice struct {
	pick   int     // candidate of the largest score
	chance float64 // largest probability of being better than the best by a worthwhile margin
	widest float64 // largest standard deviation of ln step time
	meets  float64 // largest probability of meeting the deadline; 1 without one
	among  []int   // the candidates that all members looked at
}

// verdict is the outcome of looking at one.
type verdict struct{ score, chance, sd, meets float64 }

// choose scores the open candidates, of which there is at least one.
func (p *problem) choose(post *Posterior, best float64) choice {
	open := p.openWhere(func(int) bool { return true })
	judge := p.judge(post, best)
	if len(open)*len(post.members) > screenAbove {
		open = p.screen(post, best, open)
	}
	verdicts := make([]verdict, len(open))
	inParallel(len(open), func(lo, hi int) {
		q, moved, finish := post.predictor(), Predictive{}, Predictive{}
		for k := lo; k < hi; k++ {
			verdicts[k] = judge(open[k], q, &moved, &finish)
		}
	})
	var special []float64
	switch {
	case p.opts.Objective == Accuracy:
		special = p.teaching(post, open)
	case p.opts.Acquisition == thompson:
		special = p.thompson(post, open)
	}
	c := choice{pick: -1, among: open}
	top := math.Inf(-1)
	for k, v := range verdicts {
		if special != nil {
			v.score += special[k]
		}
		c.chance, c.widest, c.meets = max(c.chance, v.chance), max(c.widest, v.sd), max(c.meets, v.meets)
		if i := open[k]; c.pick < 0 || v.score > top || v.score == top && p.priority(i) > p.priority(c.pick) {
			c.pick, top = i, v.score
		}
	}
	return c
}

// judge returns the function that looks at one candidate. What it returns is
// safe for concurrent use, given scratch space of its own.
func (p *problem) judge(post *Posterior, best float64) func(i int, q *predictor, moved, finish *Predictive) verdict {
	acquire, _ := acquisitionByName(p.opts.Acquisition) // validated before
	margin := p.opts.Objective.margin(worthwhile)
	cost := p.costModel()
	usual := p.usualCost(post, cost)
	return func(i int, q *predictor, moved, finish *Predictive) verdict {
		raw := q.at(p.points[i])
		belief := p.shift(raw, post, i, p.offset[i], moved)
		v := verdict{meets: 1}
		_, v.sd = belief.Moments()
		v.score = math.Log(p.fits[i])
		if p.fits[i] < doubtful || p.opts.Objective != Accuracy && !worthTheRisk(belief, best, p.fits[i]) {
			v.score -= lastResort
		}
		if p.opts.Objective == Accuracy {
			return v // what a trial there teaches is added by [problem.teaching]
		}
		if p.finish != nil {
			v.meets = p.shift(raw, post, i, p.finish[i], finish).Below(math.Log(p.opts.Deadline))
			v.score += math.Log(max(v.meets, math.SmallestNonzeroFloat64))
		}
		if !math.IsInf(best, 1) { // else nothing meets the deadline yet, and that alone counts
			v.score += acquire(belief, best)
			// The fastest are the likeliest both to be better and to be in
			// time, so that the smaller probability is that of both.
			v.chance = p.fits[i] * min(belief.Below(best-margin), v.meets)
		}
		if p.opts.CostWeight > 0 {
			v.score -= p.opts.CostWeight * math.Log1p(cost.relative(p, i, belief)/usual)
		}
		return v
	}
}

// screen returns the candidates that look best to the heaviest members alone.
func (p *problem) screen(post *Posterior, best float64, open []int) []int {
	few := &Posterior{}
	var sum float64
	for k := range min(screenMembers, len(post.members)) {
		few.members, few.trend = append(few.members, post.members[k]), append(few.trend, post.trend[k])
		few.weights = append(few.weights, post.weights[k])
		sum += post.weights[k]
	}
	for k := range few.weights {
		few.weights[k] /= sum
	}
	judge := p.judge(few, best)
	type scored struct {
		i     int
		score float64
	}
	all := make([]scored, len(open))
	inParallel(len(open), func(lo, hi int) {
		q, moved, finish := few.predictor(), Predictive{}, Predictive{}
		for k := lo; k < hi; k++ {
			v := judge(open[k], q, &moved, &finish)
			if all[k] = (scored{open[k], v.score}); p.opts.Objective == Accuracy {
				all[k].score += 2 * math.Log(v.sd) // what a trial there can teach grows with its variance
			}
		}
	})
	slices.SortStableFunc(all, func(a, b scored) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(p.priority(b.i), p.priority(a.i))
	})
	kept := make([]int, min(screenKeep, len(all)))
	for k := range kept {
		kept[k] = all[k].i
	}
	return kept
}

// inParallel splits 0 … n−1 into ranges that are worked on at once.
func inParallel(n int, work func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+255)/256)
	if workers <= 1 {
		work(0, n)
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { work(w*n/workers, (w+1)*n/workers) })
	}
	wait.Wait()
}

// usualCost returns the expected cost of another trial of the best candidate so
// far, 1 if there is none.
func (p *problem) usualCost(post *Posterior, cost trialCost) float64 {
	if p.bestIndex < 0 {
		return 1
	}
	return cost.relative(p, p.bestIndex, p.belief(post, p.bestIndex))
}
