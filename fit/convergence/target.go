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
	Away   bool    // the last third of the record is further from the target than the first
}

// Error implements error.
func (e *NeverReachedError) Error() string {
	if e.Away {
		return fmt.Sprintf("the training curve never reaches %.4g: the last third of the record lies further from it than the first", e.Target)
	}
	return fmt.Sprintf("the training curve never reaches %.4g: it levels off at about %.4g (probability of reaching it %.0f %%)",
		e.Target, e.Floor, 100*e.Chance)
}

// TargetAnswer says when a training curve reaches a target.
type TargetAnswer struct {
	Steps  data.Estimate // optimizer steps at the initial batch, from step 0; Mean is the median
	Chance float64       // probability that the target is reached at all
	Method string        // "recorded", or the family that answered
	Notes  []string      // what a reader should know about how good the answer is
}

// StepsTo returns the optimizer steps at the initial batch, from step 0, to
// a target loss (or metric, if that is what was fitted); see
// [Curve.Target], which says more.
func (c *Curve) StepsTo(target float64) (data.Estimate, error) {
	a, err := c.Target(target)
	return a.Steps, err
}

// Target answers when a target loss (or metric, if that is what was fitted)
// is first reached.
//
// If the recorded curve already got there the answer is where it did, between
// the two recorded lows around the target.
// Otherwise it is the median and the 90 % interval of the first hit: over
// many curves that agree with the record, pooled with the horizon (see
// [Settings]), or where finished runs are known over their courses
// laid over the record, pooled with their own first hits. If a single
// published curve was asked for, its best fit gives the answer and its
// alternatives the interval.
//
// It fails with a *[NeverReachedError] if not reaching the target is the
// likelier outcome.
func (c *Curve) Target(target float64) (TargetAnswer, error) {
	t := c.toLoss(target)
	if math.IsNaN(t) {
		return TargetAnswer{}, &data.InputError{Found: fmt.Sprint(target), Want: "a target loss"}
	}
	for i, s := range c.Seen {
		if s.Loss <= t {
			return TargetAnswer{Steps: between(c.Seen[max(i-1, 0)], s, t), Chance: 1, Method: "recorded"}, nil
		}
	}
	a, floor := TargetAnswer{Method: c.Family}, c.low()
	switch {
	case c.Single != nil:
		a.Steps, a.Chance = c.singleStepsTo(t)
		if best := c.single(); best != nil {
			floor = best.At(math.Inf(1))
		}
	default:
		o := c.outlookOf(t)
		if a.Chance = o.chance; o.chance >= .5 {
			a.Steps = o.hits.estimate()
		}
		floor = levelOf(o.paths, t, c.low())
	}
	if a.Chance < .5 {
		return TargetAnswer{}, &NeverReachedError{Target: target, Floor: c.fromLoss(floor), Chance: a.Chance,
			Away: c.Single == nil && len(c.Templates) == 0 && diverges(c.Recorded)}
	}
	a.Notes = c.notes(a)
	if r := c.Rising; r != nil && target > r.Ceiling && (r.Ceiling == 1 || r.Ceiling == 100) {
		a.Notes = append(a.Notes, fmt.Sprintf("the metric was never above %g so far: if it is a fraction or a percentage, %.4g is out of reach", r.Ceiling, target))
	}
	return a, nil
}

// single returns the single curve asked for, nil if there is none or its
// parameters, which may come from a file, are too few.
func (c *Curve) single() CurveForm {
	if c.Single == nil {
		return nil
	}
	f, err := familyNamed(c.Family)
	if err != nil || len(c.Single.Parameters) != len(f.names) {
		return nil
	}
	return f.form(c.Single.Parameters)
}

// singleStepsTo answers from the single curve. Where its best fit gets there
// the chance is 1: a single curve has no second opinion.
func (c *Curve) singleStepsTo(t float64) (data.Estimate, float64) {
	best := c.single()
	if best == nil {
		return data.Estimate{}, 0
	}
	x, ok := best.StepsTo(t)
	if !ok || !finite(x) {
		return data.Estimate{}, 0
	}
	e := data.Estimate{Mean: math.Max(x, c.LastX)}
	e.Lo, e.Hi = e.Mean, e.Mean
	f, err := familyNamed(c.Family)
	if err != nil {
		return e, 1
	}
	var steps, weights []float64
	for _, cell := range c.Single.Cells {
		if len(cell.Parameters) != len(f.names) {
			continue
		}
		if x, ok := f.form(cell.Parameters).StepsTo(t); ok && finite(x) {
			steps, weights = append(steps, math.Max(x, c.LastX)), append(weights, cell.Weight)
		}
	}
	if q := quantile.Weighted(steps, weights, .05); finite(q) {
		e.Lo, e.Hi = math.Min(e.Mean, q), math.Max(e.Mean, quantile.Weighted(steps, weights, .95))
	}
	return e, 1
}

// low returns the lowest loss recorded.
func (c *Curve) low() float64 { return c.Seen[len(c.Seen)-1].Loss }

// levelOf returns what curves level off at, the median of those that do so
// above a target; otherwise, if there are none, the level given.
func levelOf(paths []path, target, otherwise float64) float64 {
	var limits, weights []float64
	for _, p := range paths {
		if p.limit > target {
			limits, weights = append(limits, p.limit), append(weights, p.weight)
		}
	}
	if level := quantile.Weighted(limits, weights, .5); finite(level) {
		return level
	}
	return otherwise
}

// between interpolates where a curve passed t from one low to the next.
func between(before, after SeenPoint, t float64) data.Estimate {
	e := data.Estimate{Mean: after.X, Lo: before.X, Hi: after.X}
	if drop := before.Loss - after.Loss; drop > 0 && t < before.Loss {
		e.Mean = before.X + (after.X-before.X)*(before.Loss-t)/drop
	}
	return e
}

// notes says what limits an answer.
func (c *Curve) notes(a TargetAnswer) []string {
	var notes []string
	// A tenth of the run is where recorded runs say that the curve begins to
	// add to what the horizon knows.
	const early = .12
	part, of := c.LastX/a.Steps.Mean, "way to the target"
	if c.Planned > 0 {
		part, of = c.LastX/c.Planned, "planned run"
	}
	if len(c.Templates) == 0 && part < early {
		notes = append(notes, fmt.Sprintf("only %.0f %% of the %s is recorded and no finished run of the job is known: "+
			"the answer is hardly better than the horizon rule, which does not look at the curve", 100*part, of))
	}
	if len(c.Templates) == 0 && c.Single == nil && c.Planned > 0 && c.Planned <= c.LastX {
		notes = append(notes, "the planned end of the run has passed, so it says nothing about when the target is met")
	}
	if c.Points < minSinglePoints {
		notes = append(notes, fmt.Sprintf("the curve has only %d points", c.Points))
	}
	if len(c.Templates) == 0 && c.Single == nil {
		notes = append(notes, c.dropNotes()...)
	}
	return notes
}

// dropNotes says what is unknown about learning-rate drops.
func (c *Curve) dropNotes() []string {
	seg := c.lastSegment()
	var ahead int
	for _, m := range c.Milestones {
		if m > c.LastX {
			ahead++
		}
	}
	switch {
	case ahead > 0 && len(seg.later) == 0:
		return []string{"no learning-rate drop is recorded yet, so what those to come will do is unknown and left out"}
	case len(c.Milestones) == 0:
		if drops := c.ChangePoints(); len(drops) > 0 {
			return []string{fmt.Sprintf("the curve drops after step %.6g, as at a cut of the learning rate; "+
				"later cuts are foreseen only if their milestones are given", drops[len(drops)-1])}
		}
	}
	return nil
}

// templateError says what is wrong with a finished run.
func templateError(index, points int) error {
	return &data.InputError{Source: data.Source{Column: fmt.Sprintf("template %d", index+1)},
		Found: fmt.Sprintf("%d usable curve points", points),
		Want:  fmt.Sprintf("a finished run of at least %d points, with the same x and the same loss or metric as the run itself", minTemplate)}
}
