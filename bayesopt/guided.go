package bayesopt

import (
	"math"
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
	o, err := o.Validate()
	if err != nil {
		return nil, err
	}
	return &Guided{opts: o}, nil
}

// Next implements [Strategy]. It never suggests a candidate that was measured
// (aborted trials aside), is running, or must be infeasible, except to measure
// it again where measurements are noisy, and says so in
// [Suggestion.Remeasure]. A history that makes no sense (no candidates,
// candidates the features cannot tell apart, an ok trial without a step time)
// is a *data.InputError.
func (g *Guided) Next(h History) (Suggestion, error) {
	p, err := NewProblem(g.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if p.opts.Target != nil {
		return p.decideTarget()
	}
	post, err := p.learn()
	if err != nil {
		return Suggestion{}, err
	}
	if post != nil && !p.starting() {
		if s, again := p.contradicted(post); again {
			return s, nil
		}
	}
	if len(p.Open()) == 0 {
		return p.Exhausted(p.favourite(post)), nil
	}
	if post == nil || p.starting() {
		i, reason := p.startPick()
		return p.suggest(i, post, reason), nil
	}
	return p.decide(post), nil
}

// learn fits the model, first to the measurements and then to those and the
// running trials, taken to come as predicted: the kriging believer (Ginsbourger,
// Le Riche and Carraro 2010, section 4.2). It returns nil if nothing usable was
// measured.
func (p *Problem) learn() (*Posterior, error) {
	if len(p.observations) == 0 {
		return nil, nil
	}
	fit := func() (*Posterior, error) {
		x, responses, noise := p.residuals()
		return averageOver(x, responses, noise, Prior{Noisy: p.opts.Noisy, Jumps: true, LengthSD: p.opts.Constants.LengthSD}, averageKeep, p.opts.Seed)
	}
	post, err := fit()
	if err != nil {
		return nil, err
	}
	if !math.IsInf(p.limit, 1) && p.Successes() > 0 {
		p.impute(post)
		if post, err = fit(); err != nil {
			return nil, err
		}
	}
	record := post.record
	if len(p.running) > 0 {
		for _, i := range p.running {
			o := observation{x: p.points[i], logTime: p.expected(post, i) - p.offset[i], index: -1}
			for _, t := range p.priorMeans {
				o.priorMeans = append(o.priorMeans, t.at[i])
			}
			p.observations = append(p.observations, o)
		}
		if post, err = fit(); err != nil {
			return nil, err
		}
	}
	post.record, post.width = record, record.width(p.opts.Constants.RecordTrust)
	return post, nil
}

// decide picks by acquisition, or stops.
func (p *Problem) decide(post *Posterior) Suggestion {
	c := p.choose(post, p.incumbent(post))
	s := p.next(post, c)
	s.Better = c.better
	if p.bestIndex >= 0 && p.opts.Objective != Accuracy && len(post.record) >= minRecord && !s.Stop {
		s.Reason += "; " + p.claim(c)
	}
	return s
}

func (p *Problem) next(post *Posterior, c choice) Suggestion {
	fired, worth, least := p.shouldStop(post, c), c.worth, 0.0
	if fired != "" { // nothing new is worth a trial, but to choose well may be
		worth, least = math.Inf(-1), p.opts.Constants.StopChance*p.opts.TargetRegret
	}
	if s, again := p.again(post, worth, least); again && p.opts.Objective != Accuracy {
		return s
	}
	if fired != "" && !p.opts.KeepGoing {
		return p.Stopped(p.favourite(post), fired)
	}
	s := p.suggest(c.pick, post, "")
	s.Fired, s.Best = fired, p.favourite(post)
	return s
}

// incumbent returns the response to improve on: the best measured, or with
// noise the best posterior mean among the measured candidates, because the
// luckiest of several noisy measurements is better than the truth. Believed
// results of running trials count, or two trials would chase the same gain.
// It is +Inf while nothing measured meets the deadline, or all met a time limit.
func (p *Problem) incumbent(post *Posterior) float64 {
	best := p.best
	if p.opts.Noisy && p.bestIndex >= 0 {
		best = p.expected(post, p.favourite(post))
	}
	for i, s := range p.standing {
		if s == inFlight && p.opts.Deadline == 0 {
			best = min(best, p.expected(post, i))
		}
	}
	if math.IsInf(best, 1) && p.opts.Deadline == 0 && p.Successes() > 0 {
		// Only configurations outside the table were measured: improve on the
		// best the model expects of the table itself.
		for i := range p.cands {
			best = min(best, p.expected(post, i))
		}
	}
	return best
}

// favourite returns the measured candidate that is taken for the best: the
// best measurement, or with noise the best posterior mean, −1 if there is
// none. With a deadline only candidates that were seen to meet it count.
func (p *Problem) favourite(post *Posterior) int {
	if !p.opts.Noisy || p.bestIndex < 0 || post == nil {
		return p.bestIndex
	}
	pick, least := -1, math.Inf(1)
	looked := map[int]bool{}
	for _, o := range p.observations {
		if o.index < 0 || !o.feasible || looked[o.index] || o.logTime > p.latest[o.index] {
			continue
		}
		looked[o.index] = true
		if m := p.expected(post, o.index); m < least {
			pick, least = o.index, m
		}
	}
	return pick
}

// expected returns the posterior mean of the response of candidate i.
func (p *Problem) expected(post *Posterior, i int) float64 {
	m, _ := p.belief(post, i).Moments()
	return m
}

// belief returns the posterior of the response of candidate i.
func (p *Problem) belief(post *Posterior, i int) Predictive {
	return p.shift(post.Predict(p.points[i]), post, i, p.offset[i], new(Predictive))
}

// suggest describes the choice of candidate i.
func (p *Problem) suggest(i int, post *Posterior, why string) Suggestion {
	s := Suggestion{Index: i, Config: p.cands[i], PFeasible: 1, Best: p.bestIndex}
	var belief Predictive
	if post != nil {
		belief = p.belief(post, i)
		s.Expected = p.opts.Objective.estimate(belief)
		s.PFeasible = p.fits[i] * belief.Below(p.limit+p.offset[i])
	}
	if p.priced {
		s.Cost = p.costModel().seconds(p, i, belief) * p.hourly[i] / 3600
	}
	s.Reason = p.reason(i, belief, why, s)
	return s
}

// costModel predicts how long a trial takes from those that were measured.
func (p *Problem) costModel() trialCost { return newTrialCost(p.measured, p.opts.TrialSeconds) }
