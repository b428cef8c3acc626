package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"knee/data"
)

// Limits bounds a search for the best configuration. Zero means no limit.
type Limits struct {
	Deadline time.Duration // until the goal is reached
	Budget   float64       // US$ until the goal is reached
	// Confident holds the bad ends of the 90 % intervals, not the means, to the limits.
	Confident bool
	// Inside leaves out what is outside the measured range, unless everything is.
	Inside bool
}

// NoneFitsError says that no candidate is within the limits.
type NoneFitsError struct {
	Nearest Answer // the candidate that exceeds its worst limit by the least
	Binding string // its worst limit, with numbers
	Tried   int    // candidates that could be predicted and fit in memory
	Skipped error  // why the first of the others was left out; nil without others
}

// Error implements error.
func (e *NoneFitsError) Error() string {
	text := fmt.Sprintf("none of %d configurations keeps to the limits, because %s; the nearest is %s",
		e.Tried, e.Binding, e.Nearest.Config)
	if e.Skipped != nil {
		text += "; others were left out: " + e.Skipped.Error()
	}
	return text
}

// Best returns the best candidate within the limits: with a deadline the
// cheapest, otherwise the fastest. A candidate's local batch is kept; if it has
// none, [Predictor.BestBatch] chooses it. Candidates that cannot be predicted
// (an unmeasured GPU type, a batch that does not fit) are skipped; one whose batch
// is not whole samples per worker is the best only if all within the limits are such.
//
// It fails with a *[NoneFitsError] if no candidate is within the limits, with
// the first candidate's error if none can be predicted, and with a
// *data.InputError if the limits need a goal or a price that was not given.
func Best(p *Predictor, candidates []data.Config, l Limits) (Answer, error) {
	if err := l.check(p); err != nil {
		return Answer{}, err
	}
	var answers []Answer
	var first error
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
		if why := a.Unfit(); err == nil && why != "" {
			err = errors.New(why)
		}
		switch {
		case err == nil:
			answers = append(answers, a)
		case first == nil:
			first = fmt.Errorf("%s: %w", c, err)
		}
	}
	if len(answers) == 0 {
		return Answer{}, cmp.Or(first, data.Invalid("", "no candidates", "at least one configuration to choose from"))
	}
	if l.Inside {
		answers = Inside(answers)
	}
	excess := func(a Answer) float64 { e, _ := l.excess(a); return e }
	kept := slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return !(excess(a) <= 0) })
	parts := func(a Answer) bool { return a.Config.LocalBatch != math.Trunc(a.Config.LocalBatch) }
	if whole := slices.DeleteFunc(slices.Clone(kept), parts); len(whole) > 0 {
		kept = whole
	}
	if len(kept) > 0 {
		return slices.MinFunc(kept, l.compare), nil
	}
	nearest := slices.MinFunc(answers, func(a, b Answer) int { return cmp.Compare(excess(a), excess(b)) })
	_, binding := l.excess(nearest)
	return Answer{}, &NoneFitsError{Nearest: nearest, Binding: binding, Tried: len(answers), Skipped: first}
}

// Inside returns the answers within the measured range; all if there are none.
func Inside(answers []Answer) []Answer {
	if in := slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return a.Extrapolated }); len(in) > 0 {
		return in
	}
	return answers
}

// check refuses limits that are negative or need a goal or price not given.
func (l Limits) check(p *Predictor) error {
	g := p.Goal
	switch noGoal := g.Steps <= 0 && g.Samples <= 0 && !g.HasTarget; {
	case (l.Deadline != 0 || l.Budget != 0) && noGoal:
		return data.Invalid("goal", "nothing", "steps, samples or a target loss (--steps, --target-loss), to compare a deadline or budget with")
	case l.Budget != 0 && len(p.Price) == 0:
		return data.Invalid("price_per_hour", "nothing", "a price per worker-hour (--price), to compare a budget with")
	case l.Deadline < 0 || l.Budget < 0 || math.IsNaN(l.Budget):
		return data.Invalid("limits", fmt.Sprintf("deadline %v, budget %g", l.Deadline, l.Budget), "limits of at least 0")
	}
	return nil
}

// excess returns ln(value/limit) of the worst limit, ≤ 0 if all are kept, and it in words.
func (l Limits) excess(a Answer) (worst float64, why string) {
	worst = math.Inf(-1)
	hold := func(got data.Estimate, limit float64, words string, show func(float64) string) {
		v := got.Mean
		if l.Confident {
			v = got.Hi
		}
		if e := math.Log(v / limit); limit > 0 && e > worst {
			worst, why = e, fmt.Sprintf(words, show(v), show(limit))
		}
	}
	hold(a.TimeToTarget, l.Deadline.Seconds(), "the goal takes %s against a deadline of %s", seconds)
	hold(a.CostToTarget, l.Budget, "the goal costs %s against a budget of %s", func(v float64) string { return fmt.Sprintf("$%.3g", v) })
	return worst, why
}

// compare orders answers within the limits, the better first.
func (l Limits) compare(a, b Answer) int {
	cost := 0
	if l.Deadline > 0 {
		cost = cmp.Compare(a.CostToTarget.Mean, b.CostToTarget.Mean)
	}
	return cmp.Or(cost, cmp.Compare(a.TimeToTarget.Mean, b.TimeToTarget.Mean), cmp.Compare(b.Rate(), a.Rate()))
}

// seconds formats a duration in seconds, such as "6h12m" or "41s".
func seconds(v float64) string {
	if v > float64(math.MaxInt64)/1e9 {
		return fmt.Sprintf("%.3g years", v/(365.25*24*3600))
	}
	d, unit := time.Duration(v*1e9), time.Second/10
	if d >= time.Hour {
		unit = time.Minute
	}
	return data.FormatDuration(d.Round(unit))
}
