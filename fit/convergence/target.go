package convergence

import (
	"fmt"
	"math"

	"knee/data"
	"knee/internal/quantile"
)

// NeverReachedError says that a curve levels off above a target, or goes away
// from it.
type NeverReachedError struct {
	Target float64 // as asked for
	Floor  float64 // what the curves that do not reach it level off at, in the same terms
	Chance float64 // posterior probability that the target is reached after all
	Away   bool    // the record goes away from the target
}

// Error implements error.
func (e *NeverReachedError) Error() string {
	if e.Away {
		return fmt.Sprintf("the training curve never reaches %.4g: the record goes further from it", e.Target)
	}
	return fmt.Sprintf("the training curve never reaches %.4g: it levels off at about %.4g (probability of reaching it %.0f %%)",
		e.Target, e.Floor, 100*e.Chance)
}

// Answer says when a training curve reaches a target.
type Answer struct {
	// Steps are optimizer steps at the initial batch, from step 0, on condition
	// that the target is reached; Mean is the median.
	Steps  data.Estimate
	Chance float64  // probability that the target is reached at all
	Reach  Reach    // in which meaning
	Method string   // "recorded", or the family that answered
	Notes  []string // what a reader should know about how good the answer is
}

// Target answers when a target loss (or metric, if that is what was fitted)
// is reached, in the given meaning (empty: the one that fits the record).
//
// If the record already got there the answer is where it did, between the
// recorded lows around the target. Otherwise it is the median and the 90 %
// interval over many curves that agree with the record. If Optimus's curve was
// asked for, its best fit gives the answer and its alternatives the interval.
//
// It fails with a *[NeverReachedError] if the record goes away from the target,
// or if less than one in twenty of the curves reaches it and neither a planned
// part of the run nor a finished one is known that could bring a change.
func (c *Curve) Target(target float64, reach Reach) (Answer, error) {
	if reach == "" {
		reach = c.Reach
	}
	if err := reach.check(); err != nil {
		return Answer{}, err
	}
	t := c.toLoss(target)
	if math.IsNaN(t) {
		return Answer{}, refuse("", target, "a target loss")
	}
	lows := c.lows(reach)
	for i, s := range lows {
		if s.Loss <= t {
			return Answer{Steps: between(lows[max(i-1, 0)], s, t), Chance: 1, Reach: reach, Method: "recorded"}, nil
		}
	}
	a, floor := Answer{Method: c.Family, Reach: reach}, c.lowest(reach)
	var hopeless, away bool
	if c.Family == Optimus {
		a.Steps, a.Chance = c.optimusStepsTo(t)
		floor, hopeless = c.optimus().Beta2, a.Chance == 0
	} else {
		p, at := c.arrive(t, reach)
		a.Steps, a.Chance, floor = at.estimate(), at.chance, p.level(t, floor)
		hopeless = at.curves < unlikely && c.Planned <= c.LastX && len(c.Templates) == 0
		away = p.rising() > 1-unlikely
	}
	if hopeless || away {
		return Answer{}, &NeverReachedError{Target: target, Floor: c.fromLoss(floor), Chance: a.Chance, Away: away}
	}
	a.Notes = c.notes(a, c.fromLoss(floor))
	if r := c.Rising; r != nil && target > r.Ceiling && (r.Ceiling == 1 || r.Ceiling == 100) {
		a.Notes = append(a.Notes, fmt.Sprintf("the metric was never above %g so far: if it is a fraction or a percentage, %.4g is out of reach", r.Ceiling, target))
	}
	return a, nil
}

// unlikely is the part of the curves below which they do not bear an answer.
const unlikely = 1. / 20

// level returns what the curves of a posterior level off at, the median of
// those that do so above a target; otherwise, if there are none, the level given.
func (p *posterior) level(target, otherwise float64) float64 {
	var ends []float64
	for _, d := range p.draws {
		if end := p.end(d); end > target && finite(end) {
			ends = append(ends, end)
		}
	}
	if level := quantile.Median(ends); finite(level) {
		return level
	}
	return otherwise
}

// rising returns the part of the curves that rise.
func (p *posterior) rising() float64 {
	n := 0
	for _, d := range p.draws {
		if d.amplitude <= 0 {
			n++
		}
	}
	return float64(n) / drawCount
}

// between interpolates where a curve passed t from one low to the next.
func between(before, after Point, t float64) data.Estimate {
	e := data.Estimate{Mean: after.X, Lo: before.X, Hi: after.X}
	if drop := before.Loss - after.Loss; drop > 0 && t < before.Loss {
		e.Mean = before.X + (after.X-before.X)*(before.Loss-t)/drop
	}
	return e
}

// notes says what limits an answer.
func (c *Curve) notes(a Answer, floor float64) []string {
	var notes []string
	if a.Chance < .5 {
		notes = append(notes, fmt.Sprintf("more likely than not the target is never reached, as the curve levels off at about %.4g: the steps are for the case that it is", floor))
	}
	if c.Points < minOptimusPoints {
		notes = append(notes, fmt.Sprintf("the curve has only %d points", c.Points))
	}
	if len(c.Templates) > 0 || c.Family == Optimus {
		return notes
	}
	if c.Planned > 0 && c.Planned <= c.LastX {
		notes = append(notes, "the planned end of the run has passed, so it says nothing about when the target is met")
	}
	if n := len(c.Milestones); n > 0 && c.Milestones[n-1] > c.LastX && len(c.lastSegment().later) == 0 {
		notes = append(notes, "no learning-rate cut is recorded yet, so what those to come will do is unknown and left out")
	}
	return notes
}
