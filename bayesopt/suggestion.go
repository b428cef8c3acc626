package bayesopt

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/internal/list"
)

// History is the input of a decision.
type History struct {
	Candidates []data.Config
	Measured   []data.Measurement // finished trials, failed ones included
	Running    []data.Config      // running trials
}

// Suggestion is the configuration to measure next, or the decision to stop.
type Suggestion struct {
	Stop      bool
	Index     int // into Candidates
	Config    data.Config
	Expected  data.Estimate // objective in its natural unit (e.g. step time s, throughput samples/s)
	PFeasible float64       // probability that the trial gives a time
	Cost      float64       // expected US$ of the trial, 0 if prices are unknown
	Reason    string        // one sentence

	// Remeasure says that the candidate was measured before.
	Remeasure bool

	// Best is the index of the best candidate so far, −1 if none, see [Problem.Favourite].
	Best int

	// Choice is the present best configuration, with a [Target] where Target.At
	// holds, and Answer a sentence on it; empty under [Accuracy].
	Choice data.Config
	Answer string

	// Better is the probability that something is better than the best by
	// [Options.TargetRegret]; 0 without a prediction.
	Better float64

	// Fired is the reason of the stopping rule under [Options.KeepGoing], which
	// goes on; empty if the rule did not fire.
	Fired string
}

// Strategy decides what to measure next, and why.
type Strategy interface {
	Next(h History) (Suggestion, error)
}

// Suggest returns candidate i as a suggestion, without a prediction if post is nil.
func (p *Problem) Suggest(i int, post *Posterior, why string) Suggestion {
	s := Suggestion{Index: i, Config: p.cands[i], PFeasible: p.fits[i], Best: p.bestIndex}
	var belief Predictive
	if post != nil {
		belief = p.belief(post, i)
		s.Expected = p.Options.Objective.estimate(belief)
		s.PFeasible = p.fits[i] * belief.Below(p.limit+p.offset[i])
	}
	if p.priced {
		s.Cost = p.trialSeconds(i, belief) * p.hourly[i] / 3600
	}
	base := p.best
	if f := p.Favourite(post); f >= 0 && p.Options.Noisy && post != nil { // the best measurement may be a lucky one
		base = p.expected(post, f)
	}
	s.Reason = p.reason(i, belief, why, s, base)
	return s
}

// Exhausted is [Problem.Stopped] because no candidate is left; regret is the expected
// regret of best as a share of the objective, NaN if not known.
func (p *Problem) Exhausted(best int, regret float64) Suggestion {
	n := list.Count(p.standing, func(s standing) bool { return s != barred })
	reason := fmt.Sprintf("candidates exhausted, all %d measured or running", n)
	if p.Options.Objective != Accuracy && best >= 0 && !math.IsNaN(regret) {
		reason += "; estimated remaining regret " + shareText(regret)
	}
	return p.Stopped(best, reason)
}

// Stopped returns the decision to stop with best as the best candidate, −1 for
// none. Under the objective accuracy the reason names no best.
func (p *Problem) Stopped(best int, reason string) Suggestion {
	s := Suggestion{Stop: true, Index: -1, Best: best, Reason: reason}
	if best >= 0 {
		s.Config = p.cands[best]
		if p.Options.Objective != Accuracy {
			s.Choice, s.Answer = s.Config, "best is "+s.Config.String()
			s.Reason += "; " + s.Answer
		}
	}
	return s
}

// reason returns one sentence on a suggestion, such as "expected throughput +12 % against
// the best so far (−3 % to +30 %), costs $0.80"; best is the response of the best so far.
func (p *Problem) reason(i int, belief Predictive, why string, s Suggestion, best float64) string {
	var parts []string
	if why != "" {
		parts = append(parts, why)
	}
	switch {
	case len(belief.Mean) == 0:
	case p.Options.Objective == Accuracy:
		_, sd := belief.Moments()
		known := fmt.Sprintf("±%.0f %%", 100*math.Expm1(1.645*sd))
		if factor := math.Exp(1.645 * sd); factor > 2 {
			known = fmt.Sprintf("a factor of %.2g", factor)
		}
		parts = append(parts, fmt.Sprintf("step time expected %.4g s, known to %s", s.Expected.Mean, known))
	case p.bestIndex >= 0:
		base := p.Options.Objective.natural(best)
		parts = append(parts, fmt.Sprintf("expected %s %s against the best so far (%s to %s)", strings.ReplaceAll(string(p.Options.Objective), "_", " "),
			percent(s.Expected.Mean/base), percent(s.Expected.Lo/base), percent(s.Expected.Hi/base)))
	}
	cost := "uses " + english.Plural(p.cands[i].Workers, "worker", "")
	if s.Cost > 0 {
		cost = "costs " + dollars(s.Cost)
	}
	return strings.Join(append(parts, cost), ", ")
}

// percent formats a ratio as a signed change.
func percent(ratio float64) string {
	change := math.Round(100 * (ratio - 1))
	switch {
	case change == 0:
		return "±0 %" // −0 would print a sign
	case change < 0:
		return fmt.Sprintf("−%.0f %%", -change)
	case change > 1000:
		return fmt.Sprintf("×%.3g", ratio)
	}
	return fmt.Sprintf("+%.0f %%", change)
}

// dollars formats US$, with four decimals below a cent.
func dollars(v float64) string {
	switch {
	case v > 0 && v < 0.0001:
		return "<$0.0001"
	case v > 0 && v < 0.01:
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// claim formats the probability and size of an improvement.
func (p *Problem) claim(c choice) string {
	gain := math.Expm1(c.gain)
	if !p.Options.Objective.Maximised() {
		gain = -math.Expm1(-c.gain)
	}
	return fmt.Sprintf("something is better by %s with probability %s; estimated remaining regret %s", shareText(p.Options.TargetRegret), shareText(c.better), shareText(gain))
}

// shareText formats a share in per cent, below 10 % with two digits.
func shareText(share float64) string {
	if share < .1 {
		return fmt.Sprintf("%.2g %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
