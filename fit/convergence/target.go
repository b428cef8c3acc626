package convergence

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/internal/quantile"
)

// NeverReachedError says that a curve levels off above a target, or moves away.
type NeverReachedError struct {
	Target float64 // as asked for
	Floor  float64 // level of the curves that do not reach it, in the same unit
	Chance float64 // posterior probability of reaching the target
	Away   bool    // the record moves away from the target
	Cut    float64 // step of the next cut of the learning rate if its effect is unknown, else +Inf
	Rising bool    // the target is of a metric that rises
	Sign   bool    // the target is below 0, where the record never was
}

// Error implements error.
func (e *NeverReachedError) Error() string {
	if e.Sign {
		return fmt.Sprintf("the training curve never reaches %.4g: it was not below 0 so far, and a loss such as an entropy or a squared error cannot be", e.Target)
	}
	why, unless := fmt.Sprintf("it levels off at about %.4g", e.Floor), "a later fall that the record does not show"
	if e.Rising {
		unless = "a later rise that the record does not show"
	}
	if e.Away {
		why = "the record goes further from it"
	}
	if !math.IsInf(e.Cut, 1) {
		unless = fmt.Sprintf("the learning-rate cut at %.4g steps", e.Cut)
	}
	return fmt.Sprintf("the training curve probably never reaches %.4g: %s (probability of reaching it %.0f %%), unless %s brings it there",
		e.Target, why, 100*e.Chance, unless)
}

// Answer is the prediction of when a training curve reaches a target.
type Answer struct {
	// Steps are optimizer steps at the initial batch, from step 0, given that
	// the target is reached; Mean is the median.
	Steps  data.Estimate
	Chance float64  // probability that the target is reached
	Method string   // "recorded", or the family used
	Notes  []string // limits of the answer
}

// Target returns when a target loss (or metric, if that was fitted) is reached.
//
// In the record it is interpolated between the lows around it; for [Smooth] with the
// interval of the posterior, and only if that agrees. Else it is the median and 90 %
// interval of the posterior; for [Optimus], the best fit with the same interval.
//
// It fails with a *[NeverReachedError] if the record moves away from the target, or if
// fewer than one in twenty curves of four points or more reach it and there is neither a
// planned rest of the run nor a finished run; and with a *data.InputError if target is NaN.
func (c *Curve) Target(target float64) (Answer, error) {
	t := c.toLoss(target)
	if math.IsNaN(t) {
		return Answer{}, data.Invalid("", target, "a target loss")
	}
	a, lows, met := Answer{Method: c.Family}, c.lows(), math.Inf(1)
	switch i := slices.IndexFunc(lows, func(s Point) bool { return s.Loss <= t }); {
	case i == 0:
		return c.metAtOnce(lows[0], t), nil
	case i > 0:
		a = Answer{Steps: between(lows[i-1], lows[i], t), Chance: 1, Method: "recorded"}
		if met = a.Steps.Mean; c.Reach == First || c.Family == Optimus {
			return a, nil
		}
	}
	floor := lows[len(lows)-1].Loss
	if t < c.least() {
		return Answer{}, &NeverReachedError{Target: target, Floor: c.fromLoss(floor), Cut: math.Inf(1), Sign: true}
	}
	var hopeless, away bool
	if c.Family == Optimus {
		a.Steps, a.Chance = c.optimusStepsTo(t)
		floor, hopeless = c.optimus().Beta2, a.Chance == 0
	} else {
		p, at := c.arrive(t, met)
		e := at.estimate()
		if at.past > 1-unlikely {
			a.Steps.Lo, a.Steps.Hi = math.Min(a.Steps.Lo, e.Lo), math.Max(a.Steps.Hi, e.Hi)
			return a, nil
		}
		a, floor = Answer{Steps: e, Chance: at.chance, Method: c.Family}, p.level(t, floor)
		cut := c.unknownCut()
		a.Steps.Lo = math.Min(a.Steps.Lo, cut)
		hopeless = at.curves < unlikely && c.Points >= minOptimusPoints && c.Planned <= c.LastX && len(c.Templates) == 0
		away = p.rising() > 1-unlikely
		if c.Planned > c.LastX && e.Hi > c.Planned {
			n, _ := slices.BinarySearch(at.x, c.Planned)
			a.Notes = append(a.Notes, fmt.Sprintf("the run as planned ends at %.4g steps; by then the target is met with a probability of %.0f %%", c.Planned, 100*at.chance*floats.Sum(at.mass[:n])))
		}
		if at.past > 0 {
			a.Notes = append(a.Notes, fmt.Sprintf("the smoothed record meets the target at %.4g steps, by its noise alone with a probability of %.0f %%", met, 100*(1-at.past)))
		}
	}
	if hopeless || away {
		return Answer{}, &NeverReachedError{Target: target, Floor: c.fromLoss(floor), Chance: a.Chance, Away: away, Cut: c.unknownCut(), Rising: c.Rising != nil}
	}
	a.Notes = append(a.Notes, c.notes(a, c.fromLoss(floor))...)
	if r := c.Rising; r != nil && target > r.Ceiling && (r.Ceiling == 1 || r.Ceiling == 100) {
		a.Notes = append(a.Notes, fmt.Sprintf("the metric was never above %g so far: if it is a fraction or a percentage, %.4g is out of reach", r.Ceiling, target))
	}
	return a, nil
}

// least is 0 if the record never fell below it: a loss such as an entropy or a square cannot.
func (c *Curve) least() float64 {
	if c.Rising != nil || c.Offset != 0 {
		return math.Inf(-1)
	}
	return 0
}

// unlikely is the share of curves below which a target counts as not reached.
const unlikely = 1. / 20

// level returns the median limit of the curves that level off above a target, if any.
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

// rising returns the share of curves that rise.
func (p *posterior) rising() float64 {
	n := 0
	for _, d := range p.draws {
		if d.amplitude <= 0 {
			n++
		}
	}
	return float64(n) / drawCount
}

// metAtOnce answers for a target that the first low of the record meets. That
// is a level over many points if the record is flat or rises.
func (c *Curve) metAtOnce(low Point, target float64) Answer {
	first := c.Recorded[0]
	if c.Reach == First {
		first = low
	}
	a := Answer{Steps: data.Estimate{Mean: first.X, Lo: first.X, Hi: first.X}, Chance: 1, Method: "recorded"}
	if first.Loss > target {
		a.Steps.Hi = low.X
	}
	a.Notes = []string{fmt.Sprintf("the record, from %.4g to %.4g, meets the target from its beginning: is that in the same unit, and meant to fall? A metric rises once its record does",
		c.fromLoss(first.Loss), c.fromLoss(c.Recorded[len(c.Recorded)-1].Loss))}
	return a
}

// between interpolates the step at which a curve passed t between two lows.
func between(before, after Point, t float64) data.Estimate {
	e := data.Estimate{Mean: after.X, Lo: before.X, Hi: after.X}
	if drop := before.Loss - after.Loss; drop > 0 && t < before.Loss {
		e.Mean = before.X + (after.X-before.X)*(before.Loss-t)/drop
	}
	return e
}

// unknownCut returns the next cut of the learning rate if none was recorded, so
// that its effect is unknown: any target may be met there. +Inf if there is none.
func (c *Curve) unknownCut() float64 {
	i := slices.IndexFunc(c.Milestones, func(m float64) bool { return m > c.LastX })
	if i < 0 || len(c.Templates) > 0 || c.Family == Optimus || len(c.lastSegment().later) > 0 {
		return math.Inf(1)
	}
	return c.Milestones[i]
}

// notes lists the limits of an answer.
func (c *Curve) notes(a Answer, floor float64) []string {
	var notes []string
	if a.Chance < .5 {
		notes = append(notes, fmt.Sprintf("the target is probably never reached, as the curve levels off at about %.4g; the steps are for the case that it is reached", floor))
	}
	if len(c.Spike) > 0 {
		notes = append(notes, fmt.Sprintf("the record ends in a spike, taken to pass with a probability of %.0f %%", 100*(1-c.spikeStays())))
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
	if cut := c.unknownCut(); cut < a.Steps.Hi {
		notes = append(notes, fmt.Sprintf("no learning-rate cut is recorded yet: the effect of that at %.4g steps is unknown, and the target may be met there; the median and the probability leave it out", cut))
	}
	return notes
}
