package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// Convergence is a fitted training curve: how the loss falls with optimizer
// steps at the initial batch. It holds the best fit of Optimus's form with
// its posterior over limits, which is what a plot of the curve shows, and the
// curve as recorded, from which [Convergence.StepsTo] answers.
type Convergence struct {
	Family string        `json:"family"`
	Curve  OptimusCurve  `json:"curve"` // the best fit, on losses divided by Scale
	Scale  float64       `json:"scale"` // largest loss seen
	Cells  []CurveWeight `json:"cells"` // alternatives with their posterior weights, which sum to 1
	Points int           `json:"points"`
	LastX  float64       `json:"last_x"`           // steps seen
	Rising *RisingMetric `json:"rising,omitempty"` // set if the curve is a metric that rises
	Seen   []SeenPoint   `json:"seen"`             // where new lows were first seen, thinned out
	// Recorded is the preprocessed curve, averaged over at most 128 stretches.
	Recorded []SeenPoint `json:"recorded"`
	Noise    float64     `json:"noise"` // sd of the curve around the best fit, relative to Scale
}

// RisingMetric says how a metric that rises was turned into a loss: the loss
// is Ceiling − metric.
type RisingMetric struct {
	Ceiling float64 `json:"ceiling"`
}

// CurveWeight is one alternative of the posterior.
type CurveWeight struct {
	Curve  OptimusCurve `json:"curve"`
	Weight float64      `json:"weight"`
}

// SeenPoint is a low of the curve: the loss was first at or under Loss at X.
type SeenPoint struct {
	X    float64 `json:"x"`
	Loss float64 `json:"loss"` // divided by Scale
}

// NeverReachedError says that a curve levels off above a target.
type NeverReachedError struct {
	Target float64 // as asked for
	Floor  float64 // what the best fit levels off at, in the same terms
	Chance float64 // posterior probability that the target is reached after all
}

// Error implements error.
func (e *NeverReachedError) Error() string {
	return fmt.Sprintf("the training curve never reaches %.4g: it levels off at about %.4g (probability of reaching it %.0f %%)",
		e.Target, e.Floor, 100*e.Chance)
}

// minCurvePoints is the fewest points of one curve worth fitting: three
// parameters and one to contradict them.
const minCurvePoints = 4

// FitConvergence fits l = 1/(β0·x + β1) + β2 with β ≥ 0 (Optimus, EuroSys'18,
// section 3.1) to training curves, after that paper's preprocessing
// ([Preprocess]), x being steps at the initial batch.
//
// The loss is used if recorded, otherwise the metric; a metric that rises is
// turned into a falling one. x is Progress where recorded, otherwise Step
// scaled by GlobalBatch/initial where both are known, otherwise Step,
// otherwise Epoch. Runs are preprocessed apart and fitted together. It fails
// if fewer than four points hold both numbers.
func FitConvergence(points []data.CurvePoint, initialBatch float64) (*Convergence, error) {
	runs, rising := curveRuns(points, initialBatch)
	var xs, ls []float64
	for _, r := range runs {
		xs = append(xs, r.x...)
		ls = append(ls, Preprocess(r.y)...)
	}
	if len(xs) < minCurvePoints {
		return nil, &data.InputError{Source: data.Source{Column: "loss"},
			Found: fmt.Sprintf("%d usable curve points", len(xs)),
			Want:  fmt.Sprintf("at least %d with a step or progress and a loss or metric", minCurvePoints)}
	}
	c := &Convergence{Family: "optimus", Points: len(xs), Rising: rising, Scale: slices.Max(ls), LastX: slices.Max(xs)}
	if !(c.LastX > 0) {
		return nil, &data.InputError{Source: data.Source{Column: "step"}, Found: "no step above 0",
			Want: "a curve that covers some steps"}
	}
	if !(c.Scale > 0) || slices.Min(ls) < 0 {
		return nil, &data.InputError{Source: data.Source{Column: "loss"},
			Found: fmt.Sprintf("losses from %g to %g", slices.Min(ls), c.Scale), Want: "losses of at least 0, one of them above"}
	}
	for i := range ls {
		ls[i] /= c.Scale
	}
	c.fitCells(xs, ls)
	c.Seen, c.Recorded = newLows(xs, ls), stretches(xs, ls)
	return c, nil
}

// StepsTo returns the optimizer steps at the initial batch, from step 0, to
// a target loss (or metric, if that is what was fitted).
//
// If the recorded curve already got there the answer is where it did, between
// the two recorded lows around the target.
// Otherwise it is the median and the 90 % interval over many curves that
// agree with the record and do get there; Curve, the single best fit of
// Optimus's form, is for comparison only, as it misses by far too often. If
// curves that level off above the target are the more likely ones, it fails
// with a *[NeverReachedError].
func (c *Convergence) StepsTo(target float64) (data.Estimate, error) {
	t := target
	if c.Rising != nil {
		t = c.Rising.Ceiling - target
	}
	t /= c.Scale
	if math.IsNaN(t) {
		return data.Estimate{}, &data.InputError{Found: fmt.Sprint(target), Want: "a target loss"}
	}
	for i, s := range c.Seen {
		if s.Loss <= t {
			return between(c.Seen[max(i-1, 0)], s, t), nil
		}
	}
	e, chance := c.reach(t).estimate()
	if chance < .5 {
		floor := c.Curve.Beta[2] * c.Scale
		if c.Rising != nil {
			floor = c.Rising.Ceiling - floor
		}
		return data.Estimate{}, &NeverReachedError{Target: target, Floor: floor, Chance: chance}
	}
	return e, nil
}

// LossAt returns the fitted loss (or metric) after x steps.
func (c *Convergence) LossAt(x float64) float64 {
	l := c.Curve.At(x) * c.Scale
	if c.Rising != nil {
		return c.Rising.Ceiling - l
	}
	return l
}

// between interpolates where a curve passed t from one low to the next.
func between(before, after SeenPoint, t float64) data.Estimate {
	e := data.Estimate{Mean: after.X, Lo: before.X, Hi: after.X}
	if drop := before.Loss - after.Loss; drop > 0 && t < before.Loss {
		e.Mean = before.X + (after.X-before.X)*(before.Loss-t)/drop
	}
	return e
}

// stretches averages a curve, in order of x, over at most 128 stretches.
func stretches(xs, ls []float64) []SeenPoint {
	const most = 128
	order := ascending(xs)
	n := min(len(xs), most)
	out := make([]SeenPoint, n)
	for i := range out {
		part := order[i*len(order)/n : (i+1)*len(order)/n]
		for _, j := range part {
			out[i].X += xs[j] / float64(len(part))
			out[i].Loss += ls[j] / float64(len(part))
		}
	}
	return out
}

// ascending returns the indices of xs in ascending order, ties as they come.
func ascending(xs []float64) []int {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	return order
}

// newLows returns where the curve first went below all before, at most 64
// points, the last low always among them.
func newLows(xs, ls []float64) []SeenPoint {
	order := ascending(xs)
	var lows []SeenPoint
	low := math.Inf(1)
	for _, i := range order {
		if ls[i] < low {
			low = ls[i]
			lows = append(lows, SeenPoint{xs[i], low})
		}
	}
	const most = 64
	if len(lows) <= most {
		return lows
	}
	thinned := make([]SeenPoint, most)
	for i := range thinned {
		thinned[i] = lows[i*(len(lows)-1)/(most-1)]
	}
	return thinned
}
