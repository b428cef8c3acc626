package predict

import (
	"fmt"
	"math"
	"time"

	"knee/data"
)

// Limits bounds a search for the best configuration. Zero means no limit.
type Limits struct {
	Deadline time.Duration // until the goal is reached
	Budget   float64       // US$ until the goal is reached
	// Confident compares the pessimistic ends of the 90 % intervals, instead of
	// the means, with the limits.
	Confident bool
}

// NoneFitsError says that no candidate is within the limits.
type NoneFitsError struct {
	Limits  Limits
	Nearest Answer // the candidate that exceeds its worst limit by the least
	Binding string // its worst limit, with numbers
	Tried   int    // candidates that could be predicted
}

// Error implements error.
func (e *NoneFitsError) Error() string {
	return fmt.Sprintf("none of %d configurations keeps to the limits, because %s; the nearest is %s",
		e.Tried, e.Binding, e.Nearest.Config)
}

// Best returns the best candidate within the limits: with a deadline the
// cheapest, otherwise the fastest. A candidate's local batch is kept; if it has
// none, [Predictor.BestBatch] chooses it. Candidates that cannot be predicted
// (an unmeasured GPU type, a batch that does not fit) are skipped.
//
// It fails with a *[NoneFitsError] if no candidate is within the limits, with
// the first candidate's error if none can be predicted, and with a
// *data.InputError if the limits need a goal or a price that was not given.
func Best(p *Predictor, candidates []data.Config, l Limits) (Answer, error) {
	if err := l.check(p); err != nil {
		return Answer{}, err
	}
	var best, nearest Answer
	var first error
	found, tried, least := false, 0, math.Inf(1)
	for _, c := range candidates {
		predict := p.At
		if c.LocalBatch <= 0 {
			predict = p.BestBatch
		}
		a, err := predict(c)
		if err == nil && l.Budget > 0 && !(a.PricePerHour > 0) {
			// A missing price must not count as free.
			err = data.Invalid("price_per_hour", "no price for "+a.Config.GPUType, "a price per worker-hour of every GPU type")
		}
		if err != nil {
			if first == nil {
				first = fmt.Errorf("%s: %w", c, err)
			}
			continue
		}
		tried++
		excess, _ := l.excess(a)
		if excess < least || tried == 1 {
			nearest, least = a, excess
		}
		if excess <= 0 && (!found || l.better(a, best)) {
			best, found = a, true
		}
	}
	switch {
	case found:
		return best, nil
	case tried > 0:
		_, binding := l.excess(nearest)
		return Answer{}, &NoneFitsError{Limits: l, Nearest: nearest, Binding: binding, Tried: tried}
	case first != nil:
		return Answer{}, first
	}
	return Answer{}, &data.InputError{Found: "no candidates", Want: "at least one configuration to choose from"}
}

// check refuses limits that are negative or need a goal or price not given.
func (l Limits) check(p *Predictor) error {
	need := func(column, want string) error {
		return data.Invalid(column, "nothing", want)
	}
	g := p.Goal
	switch noGoal := g.Steps <= 0 && g.Samples <= 0 && !g.HasTarget; {
	case (l.Deadline != 0 || l.Budget != 0) && noGoal:
		return need("goal", "steps, samples or a target loss (--steps, --target-loss), to compare a deadline or budget with")
	case l.Budget != 0 && len(p.Price) == 0:
		return need("price_per_hour", "a price per worker-hour (--price), to compare a budget with")
	case l.Deadline < 0 || l.Budget < 0 || math.IsNaN(l.Budget):
		return data.Invalid("limits", fmt.Sprintf("deadline %v, budget %g", l.Deadline, l.Budget), "limits of at least 0")
	}
	return nil
}

// excess returns ln(value/limit) of the worst limit, at most 0 if all are kept,
// and that limit in words.
func (l Limits) excess(a Answer) (float64, string) {
	worst, why := math.Inf(-1), ""
	hold := func(got data.Estimate, limit float64, words func(v float64) string) {
		v := got.Mean
		if l.Confident {
			v = got.Hi
		}
		if e := math.Log(v / limit); e > worst {
			worst, why = e, words(v)
		}
	}
	if l.Deadline > 0 {
		hold(a.TimeToTarget, l.Deadline.Seconds(), func(v float64) string {
			return fmt.Sprintf("the goal takes %s against a deadline of %s", seconds(v), seconds(l.Deadline.Seconds()))
		})
	}
	if l.Budget > 0 {
		hold(a.CostToTarget, l.Budget, func(v float64) string {
			return fmt.Sprintf("the goal costs $%.2f against a budget of $%.2f", v, l.Budget)
		})
	}
	return worst, why
}

// better reports whether a is preferred to b, both within the limits.
func (l Limits) better(a, b Answer) bool {
	if l.Deadline > 0 && a.CostToTarget.Mean != b.CostToTarget.Mean {
		return a.CostToTarget.Mean < b.CostToTarget.Mean
	}
	if a.TimeToTarget.Mean != b.TimeToTarget.Mean {
		return a.TimeToTarget.Mean < b.TimeToTarget.Mean
	}
	return rate(a) > rate(b)
}

// seconds formats a duration in seconds, such as "6h12m0s" or "41s".
func seconds(v float64) string {
	if v > float64(math.MaxInt64)/1e9 {
		return fmt.Sprintf("%.3g years", v/(365.25*24*3600))
	}
	d := time.Duration(v * 1e9)
	if d >= time.Hour {
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second / 10).String()
}
