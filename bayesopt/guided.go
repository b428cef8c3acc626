package bayesopt

import (
	"math"

	"knee/data"
)

// Guided is the guided strategy: a cheap start, then the candidate of largest
// expected improvement under a Gaussian process on ln step time, until no
// candidate is likely to be noticeably better. Make one with [NewGuided]. It
// has no state and may be used concurrently if its option functions may.
type Guided struct {
	opts Options
}

var _ Strategy = (*Guided)(nil)

// NewGuided returns the guided strategy, or an error that names the option
// that is wrong.
func NewGuided(o Options) (*Guided, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	return &Guided{opts: o}, nil
}

// Next implements [Strategy]. It never suggests a candidate that was measured
// (aborted trials aside), is running, or must be infeasible. A history that
// makes no sense (no candidates, candidates the features cannot tell apart, an
// ok trial without a step time) is a *data.InputError.
func (g *Guided) Next(h History) (Suggestion, error) {
	p, err := newProblem(g.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if !p.anyOpen() {
		return p.exhausted(), nil
	}
	post, err := p.learn()
	if err != nil {
		return Suggestion{}, err
	}
	if post == nil || p.starting() {
		i, reason := p.startPick()
		return p.suggest(i, post, reason), nil
	}
	return p.decide(post), nil
}

// modelBudget bounds members × candidates, so that a table of 10⁵ candidates
// takes about a second and not a minute.
const modelBudget = 600_000

// learn fits the model and adds the running trials as believed observations.
// It returns nil if nothing usable was measured.
func (p *problem) learn() (*Posterior, error) {
	if p.successes() == 0 {
		return nil, nil
	}
	prior := Prior{Noisy: p.opts.Noisy}
	var post *Posterior
	if p.opts.Hyper == "map" {
		gp, err := FitGP(p.x, p.y, prior, 4, p.opts.Seed)
		if err != nil {
			return nil, err
		}
		post = single(gp)
	} else {
		keep := min(averageKeep, max(4, modelBudget/len(p.cands)))
		var err error
		if post, err = AverageGP(p.x, p.y, prior, keep, p.opts.Seed); err != nil {
			return nil, err
		}
	}
	for _, x := range p.running {
		next, err := post.Believe(x)
		if err != nil {
			return nil, err
		}
		post = next
	}
	return post, nil
}

// decide picks by acquisition, or stops.
func (p *problem) decide(post *Posterior) Suggestion {
	best := p.incumbent(post)
	acquire, _ := acquisitionByName(p.opts.Acquisition) // validated before
	margin := p.opts.Objective.margin(worthwhile)
	cost := p.costModel()
	pick, top, chance, widest := -1, math.Inf(-1), 0.0, 0.0
	q, shifted := post.predictor(), Predictive{}
	var gain []float64
	if p.opts.Objective == Accuracy {
		gain = p.teaching(post)
	}
	for i, s := range p.standing {
		if s != open {
			continue
		}
		belief := q.at(p.points[i]).shifted(&shifted, p.prior[i]+p.offset[i])
		var score float64
		if p.opts.Objective == Accuracy {
			_, sd := belief.Moments()
			widest = max(widest, sd)
			score = math.Log(gain[i]) - math.Log(cost.relative(p, i, belief))
		} else {
			score = acquire(belief, best)
			chance = max(chance, belief.Below(best-margin))
			if p.opts.PerCost {
				score -= math.Log(cost.relative(p, i, belief))
			}
		}
		if pick < 0 || score > top || score == top && p.priority(i) > p.priority(pick) {
			pick, top = i, score
		}
	}
	stop, fired := p.shouldStop(post, best, chance, widest)
	if stop && !p.opts.KeepGoing {
		return p.stopped(fired)
	}
	next := p.suggest(pick, post, "")
	if stop {
		next.Fired = fired
	}
	return next
}

// incumbent returns the response to improve on: the best measured, or with
// noise the best posterior mean among the measured candidates, because the
// luckiest of several noisy measurements is better than the truth. Believed
// results of running trials count, or two trials would chase the same gain.
func (p *problem) incumbent(post *Posterior) float64 {
	best := p.best
	if p.opts.Noisy && p.bestIndex >= 0 {
		best = math.Inf(1)
		for k, i := range p.index {
			if p.feasible[k] && i >= 0 {
				m, _ := post.Predict(p.points[i]).Moments()
				best = min(best, m+p.prior[i]+p.offset[i])
			}
		}
	}
	for i, s := range p.standing {
		if s == inFlight {
			m, _ := post.Predict(p.points[i]).Moments()
			best = min(best, m+p.prior[i]+p.offset[i])
		}
	}
	if math.IsInf(best, 1) {
		// Only configurations outside the table were measured: improve on the
		// best the model expects of the table itself.
		for i := range p.cands {
			m, _ := post.Predict(p.points[i]).Moments()
			best = min(best, m+p.prior[i]+p.offset[i])
		}
	}
	return best
}

// belief returns what is believed about the response of candidate i.
func (p *problem) belief(post *Posterior, i int) Predictive {
	var dst Predictive
	return post.Predict(p.points[i]).shifted(&dst, p.prior[i]+p.offset[i])
}

// feasibility returns the probability that candidate i yields a time: the
// share of successes among the finished trials, weighted by how much the
// kernel says each has in common with the candidate. One imaginary success
// stands for the expectation that a study's candidates mostly work.
func (p *problem) feasibility(post *Posterior, i int) float64 {
	good, all := 1.0, 1.0
	for k := range p.x {
		w := post.correlation(p.points[i], p.x[k])
		all += w
		if p.feasible[k] {
			good += w
		}
	}
	return good / all
}

// suggest describes the choice of candidate i.
func (p *problem) suggest(i int, post *Posterior, why string) Suggestion {
	s := Suggestion{Index: i, Config: p.cands[i], PFeasible: 1}
	var belief Predictive
	if post != nil {
		belief = p.belief(post, i)
		s.Expected = p.opts.Objective.estimate(belief)
		s.PFeasible = p.feasibility(post, i)
	}
	if p.priced {
		s.Cost = p.costModel().seconds(p, i, belief) * p.hourly[i] / 3600
	}
	s.Reason = p.reason(i, belief, why, s)
	return s
}

// costModel predicts how long a trial takes from those that were measured.
func (p *problem) costModel() trialCost { return newTrialCost(p.measured, p.opts.TrialSeconds) }

// stopped is the decision to stop.
func (p *problem) stopped(reason string) Suggestion {
	return Suggestion{Stop: true, Index: -1, Config: p.bestConfig(), Reason: reason}
}

func (p *problem) bestConfig() data.Config {
	if p.bestIndex < 0 {
		return data.Config{}
	}
	return p.cands[p.bestIndex]
}
