package bayesopt

import (
	"math"
	"slices"

	"knee/internal/list"
)

// Guided is the guided strategy: a cheap start, then the candidate of largest
// expected improvement under a Gaussian process on ln step time, until no
// candidate is likely to be noticeably better. Make one with [NewGuided]. It
// has no state and is safe for concurrent use if its option functions are.
type Guided struct{ Options }

var _ Strategy = (*Guided)(nil)

// NewGuided returns the guided strategy; it fails for invalid options.
func NewGuided(o Options) (*Guided, error) {
	o, err := o.Validate()
	return &Guided{o}, err
}

// Next implements [Strategy]. It suggests no candidate that was measured (except aborted
// trials) or is running, unless measurements are noisy and one is to be repeated; see
// [Suggestion.Remeasure]. It fails with a *data.InputError for an invalid history: no
// candidates, candidates with equal features, an ok trial without a step time.
func (g *Guided) Next(h History) (Suggestion, error) {
	p, err := NewProblem(g.Options, h)
	if err != nil {
		return Suggestion{}, err
	}
	if p.Options.Target != nil {
		return p.decideTarget()
	}
	post, err := p.learn()
	if err != nil {
		return Suggestion{}, err
	}
	if len(p.Open()) == 0 {
		if s, again := p.again(post, math.Inf(-1)); again {
			return s, nil
		}
		return p.Exhausted(p.Favourite(post), p.regret(post)), nil
	}
	if post == nil || p.Trials < startTrials || len(p.observations) < startTrials {
		i, reason := p.startPick()
		return p.Suggest(i, post, reason), nil
	}
	return p.decide(post), nil
}

// decide chooses by acquisition, repeats a trial, or stops.
func (p *Problem) decide(post *Posterior) Suggestion {
	best := p.incumbent(post)
	c := p.choose(post, best)
	fired, why := p.shouldStop(post, c), ""
	if fired != "" && p.bestIndex >= 0 && p.Options.Model != nil && p.Options.Objective != Accuracy {
		if second, ok := p.second(); ok && second.better >= p.Options.Constants.StopChance {
			c, fired, why = second, "", "likeliest to be better by the speed model"
		}
	}
	worth := c.worth
	if fired != "" { // new candidates are not worth a trial, but a repetition may be
		worth = math.Inf(-1)
	}
	s, again := p.again(post, worth)
	switch {
	case again:
	case fired != "" && !p.Options.KeepGoing:
		s = p.Stopped(p.Favourite(post), fired)
	default:
		if math.IsInf(best, 1) {
			why = "nothing measured is in time, this one with a probability of " + shareText(math.Exp(c.worth))
		}
		s = p.Suggest(c.pick, post, why)
		s.Fired, s.Best = fired, p.Favourite(post)
	}
	s.Better = c.better
	if s.Best < 0 || p.Options.Objective == Accuracy {
		return s
	}
	s.Choice = p.cands[s.Best]
	s.Answer = "best is " + s.Choice.String()
	if p.bestIndex >= 0 && len(post.record) >= minRecord {
		s.Answer += "; " + p.claim(c)
		if !s.Stop {
			s.Reason += "; " + p.claim(c)
		}
	}
	return s
}

// incumbent returns the response to improve on: that of the favourite, as the minimum of
// noisy measurements is too optimistic. Believed results of running trials count, so that
// two trials do not pursue the same gain. It is +Inf while nothing measured meets the
// deadline, or all trials met a time limit.
func (p *Problem) incumbent(post *Posterior) float64 {
	best := p.best
	if p.Options.Noisy && p.bestIndex >= 0 {
		best = p.expected(post, p.Favourite(post))
	}
	// if only configurations outside the table were measured, all candidates count
	outside := math.IsInf(best, 1) && p.Successes > 0 && !slices.Contains(p.standing, inFlight)
	for i, s := range p.standing {
		if p.Options.Deadline == 0 && (s == inFlight || outside) {
			best = min(best, p.expected(post, i))
		}
	}
	return best
}

// Favourite returns the candidate taken for the best: the best measured to meet the
// deadline, if there is one, with noise by posterior mean; −1 if none.
func (p *Problem) Favourite(post *Posterior) int {
	if !p.Options.Noisy || p.bestIndex < 0 || post == nil {
		return p.bestIndex
	}
	pick, least := -1, math.Inf(1)
	for _, o := range p.observations {
		if o.index < 0 || !o.feasible || o.logTime > p.latest[o.index] {
			continue
		}
		if m := p.expected(post, o.index); m < least {
			pick, least = o.index, m
		}
	}
	return pick
}

// startTrials is the number of trials of the start, which ends with as many times or bounds
// of them. With two, decisions are as good as with three, and the first trials cost less.
const startTrials = 2

// startPick returns the next candidate of the start and the reason. The first is the
// cheapest per hour: it gives a first answer and the scale at low cost. The others are in
// the cheapest third; over the whole table they cost several times as much and inform no
// better. All are candidates that probably fit. Of these the pick has the largest distance
// to its nearest trial divided by the square root of the price (of the exponents 0, ½ and
// 1, ½ gave the least Σ cost on two of three kinds of recorded tables).
func (p *Problem) startPick() (index int, reason string) {
	pool := p.Open()
	top := slices.Max(list.Map(pool, func(i int) float64 { return p.fits[i] }))
	pool = slices.DeleteFunc(pool, func(i int) bool { return p.fits[i] < min(probable, top) })
	least := slices.Min(list.Map(pool, func(i int) float64 { return p.hourly[i] }))
	share, reason := 1, "cheapest per hour first, to anchor the scale"
	if p.Trials > 0 {
		share, reason = (len(p.cands)+2)/3, "far from every trial so far, within the cheapest third"
	}
	limit := max(slices.Sorted(slices.Values(p.hourly))[share-1], least)
	pool = slices.DeleteFunc(pool, func(i int) bool { return p.hourly[i] > limit })
	var placed [][]float64
	for i, s := range p.standing {
		if s == tried || s == inFlight {
			placed = append(placed, p.Points[i])
		}
	}
	away := list.Map(pool, func(i int) float64 {
		nearest := math.Inf(1)
		for _, x := range placed {
			nearest = min(nearest, distance(p.Points[i], x))
		}
		return nearest / math.Sqrt(p.hourly[i])
	})
	return pool[p.Best(pool, away)], reason
}
