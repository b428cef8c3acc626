package convergence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"knee/data"
)

// Reach is the definition of reaching a target.
type Reach string

// The two definitions. If empty, the record decides; see [Curve.Reach].
const (
	// First is the first recorded value at or below the target: for a metric
	// that is evaluated once per epoch and stops the training.
	First Reach = "first"
	// Smooth is where the smoothed curve does: for a loss, with noise below the curve.
	Smooth Reach = "smooth"
)

// Families for [Settings].
const (
	Auto    = "auto"    // chosen by [Fit]
	Optimus = "optimus" // a single [OptimusCurve], for comparison
)

// Families that [Fit] chooses.
const (
	CurveHorizon = "curve-horizon" // without finished runs of the job
	TemplateHits = "template-hits" // with finished runs of the job
)

// Settings controls [Fit]. The zero value uses only the record.
type Settings struct {
	// Family is [Auto] (also the empty string), or [Optimus].
	Family string
	// PlannedEpochs is the planned length of the run, 0 if unknown.
	PlannedEpochs float64
	// Dataset is the samples of an epoch, 0 if unknown: with the initial batch it turns
	// epochs into steps and back, for a record that has one of them.
	Dataset float64
	// Milestones are the epochs after which the learning rate is cut.
	Milestones []float64
	// Templates are finished runs of the job at other batch sizes, with the same optimizer,
	// learning-rate schedule and length: others make intervals too narrow.
	Templates [][]data.CurvePoint
	// Reach is the definition of reaching a target; empty: by the record.
	Reach Reach
}

// Curve is a fitted training curve: loss over steps at the initial batch. It keeps the
// record, from which [Curve.Target] and [Curve.Course] compute the posterior. Its losses
// are (loss − Offset)/Scale, in (0, 1].
type Curve struct {
	Family string        `json:"family"`
	Scale  float64       `json:"scale"`            // largest loss recorded, less Offset
	Offset float64       `json:"offset,omitempty"` // 0 unless losses are negative
	Points int           `json:"points"`
	LastX  float64       `json:"last_x"`           // steps recorded
	Rising *RisingMetric `json:"rising,omitempty"` // set for a metric that rises
	Epochs bool          `json:"epochs,omitempty"` // steps are epochs, of unknown length
	// Reach is, unless set, First for a metric of epochs, else Smooth.
	Reach    Reach   `json:"reach,omitempty"`
	Lows     []Point `json:"seen"`     // running minima of single values, at most 64
	Recorded []Point `json:"recorded"` // the curve without outliers, as averages over at most 128 stretches, without spikes
	// Spikes is the number of spikes that passed, Spike one at the end of the record.
	Spikes  int     `json:"spikes,omitempty"`
	Spike   []Point `json:"spike,omitempty"`
	Scatter float64 `json:"scatter,omitempty"` // sd of single values around their average
	// EpochSteps is the length of an epoch in steps; Pointwise says that it is not
	// known and each point counts as one.
	EpochSteps float64    `json:"epoch_steps,omitempty"`
	Pointwise  bool       `json:"pointwise,omitempty"`
	Planned    float64    `json:"planned,omitempty"`    // length of the run in steps, 0 if unknown
	Milestones []float64  `json:"milestones,omitempty"` // steps after which the learning rate is cut, ascending
	Templates  []Template `json:"templates,omitempty"`  // finished runs of the job
	// Single is the fit of [Optimus] in older files; it is ignored.
	Single json.RawMessage `json:"single,omitempty"`
	known  *prior          // nil: the learned one
}

// RisingMetric turns a rising metric into a loss, Ceiling − metric.
type RisingMetric struct {
	Ceiling float64 `json:"ceiling"`
}

// Point is a point of a record.
type Point struct {
	X    float64 `json:"x"`    // steps
	Loss float64 `json:"loss"` // scaled as in [Curve]
}

const (
	minPoints        = 2   // the fewest that show a direction
	longestPlan      = 1e9 // longest plan relative to the record
	minOptimusPoints = 4   // three parameters and a degree of freedom
)

// Fit fits training curves over steps at the initial batch, which is in samples, 0 if
// unknown.
//
// The loss is used if recorded, otherwise the metric; a rising metric is turned into a
// falling one. x is Progress if recorded, otherwise Step, scaled by GlobalBatch/initial if
// both are known, otherwise Epoch, in steps if Settings.Dataset and the initial batch are
// known; see [Curve.Epochs]. Points without finite x and y are left out. Outliers are
// removed from each run separately; runs are fitted together.
//
// It fails with a *[data.InputError] for fewer than two points (four of [Optimus] and of a
// template), for none beyond step 0, for invalid settings, and for a plan a billion times
// longer than the record.
func Fit(points []data.CurvePoint, initialBatch float64, s Settings) (*Curve, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var epoch float64
	if initialBatch > 0 {
		epoch = s.Dataset / initialBatch
	}
	pick := pickCurve(points, s.Templates, initialBatch, epoch)
	usable := pick.usable(points)
	c := &Curve{Family: CurveHorizon, Rising: pick.rising, Epochs: pick.epochs, Scale: 1, Reach: s.Reach}
	fewest := minPoints
	switch {
	case s.Family == Optimus:
		c.Family, fewest = Optimus, minOptimusPoints
	case len(s.Templates) > 0:
		c.Family = TemplateHits
	}
	if c.Reach == "" {
		c.Reach = pick.reach(usable)
	}
	record, err := c.gather(usable, fewest)
	if err != nil {
		return nil, err
	}
	c.Lows, c.Scatter = newLows(record), scatter(record)
	c.Recorded, c.Spike, c.Spikes = splitSpikes(stretches(record, mostRecorded))
	if c.Templates, err = c.newTemplates(s.Templates, pick); err != nil {
		return nil, err
	}
	c.EpochSteps, c.Pointwise = epochSteps(usable, epoch)
	if c.Planned = s.PlannedEpochs * c.EpochSteps; c.Planned > longestPlan*c.LastX {
		return nil, data.Invalid("planned epochs", s.PlannedEpochs, fmt.Sprintf("at most %g times the record", longestPlan))
	}
	for _, m := range s.Milestones {
		c.Milestones = append(c.Milestones, m*c.EpochSteps)
	}
	slices.Sort(c.Milestones)
	return c, nil
}

// check refuses unknown families and invalid plans.
func (s Settings) check() error {
	if s.Family != "" && s.Family != Auto && s.Family != Optimus {
		return data.Invalid("convergence family", strconv.Quote(s.Family), Auto+" or "+Optimus)
	}
	if !(s.PlannedEpochs >= 0) || math.IsInf(s.PlannedEpochs, 1) {
		return data.Invalid("planned epochs", s.PlannedEpochs, "epochs above 0, or 0 if unknown")
	}
	if !(s.Dataset >= 0) || math.IsInf(s.Dataset, 1) {
		return data.Invalid("dataset", s.Dataset, "samples of an epoch above 0, or 0 if unknown")
	}
	for _, m := range s.Milestones {
		if !(m > 0) || math.IsInf(m, 1) {
			return data.Invalid("milestones", m, "epochs above 0")
		}
	}
	return s.Reach.check()
}

// gather returns the record scaled and without outliers, and sets the scale.
func (c *Curve) gather(points []usablePoint, fewest int) (record []Point, err error) {
	if len(points) < fewest {
		return nil, data.Invalid("loss", fmt.Sprintf("%d usable curve points", len(points)),
			fmt.Sprintf("at least %d with a step or progress and a loss or metric", fewest))
	}
	c.Points, c.LastX = len(points), points[len(points)-1].x
	if !(c.LastX/float64(c.Points) > 0) {
		return nil, data.Invalid("step", "no step above 0", "a curve that covers some steps")
	}
	for _, run := range byRun(points) {
		record = append(record, c.clean(run)...)
	}
	ls := losses(record)
	low, high := slices.Min(ls), slices.Max(ls)
	if low < 0 { // the forms need losses above 0
		c.Offset = low - (high - low)
	}
	if c.Scale = high - c.Offset; c.Scale <= 0 {
		c.Scale = 1 // all losses are 0
	}
	slices.SortStableFunc(record, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	for i := range record {
		record[i].Loss = (record[i].Loss - c.Offset) / c.Scale
	}
	return record, nil
}

// points returns one run, scaled as c.
func (c *Curve) points(run []usablePoint) []Point {
	points := make([]Point, len(run))
	for i, p := range run {
		points[i] = Point{p.x, c.toLoss(p.y)}
	}
	return points
}

// clean returns one run without outliers, scaled as c.
func (c *Curve) clean(run []usablePoint) []Point {
	points := c.points(run)
	for i, l := range hampel(losses(points)) {
		points[i].Loss = l
	}
	return points
}

// toLoss scales a recorded value as in Curve.
func (c *Curve) toLoss(y float64) float64 {
	if c.Rising != nil {
		y = c.Rising.Ceiling - y
	}
	return (y - c.Offset) / c.Scale
}

// fromLoss is the inverse of toLoss.
func (c *Curve) fromLoss(l float64) float64 {
	l = l*c.Scale + c.Offset
	if c.Rising != nil {
		return c.Rising.Ceiling - l
	}
	return l
}

// Check refuses an invalid curve from a file, and completes those of older versions.
func (c *Curve) Check() error {
	if !(c.Scale > 0) || !(c.LastX > 0) || len(c.Lows) == 0 || len(c.Recorded) == 0 {
		return errors.New("want a positive scale, steps above 0, lows seen and a recorded curve")
	}
	for i, t := range c.Templates {
		if len(t.Recorded) < minTemplate || !(t.Recorded[len(t.Recorded)-1].X > 0) {
			return fmt.Errorf("template %d has %d points, want at least %d that go beyond step 0", i+1, len(t.Recorded), minTemplate)
		}
	}
	if !(c.EpochSteps >= 0) || !(c.Planned >= 0) || c.Planned > longestPlan*c.LastX {
		return fmt.Errorf("epoch_steps %g and planned %g, want steps of at least 0", c.EpochSteps, c.Planned)
	}
	c.Single = nil
	if c.Reach == "" { // older versions smoothed records longer than mostRecorded
		c.Reach = First
		if c.Points > mostRecorded {
			c.Reach = Smooth
		}
	}
	return c.Reach.check()
}

// Meaning is the definition in words.
func (r Reach) Meaning() string {
	if r == First {
		return "where the first recorded value does"
	}
	return "where the smoothed curve does, not the first low value"
}

// check refuses unknown definitions.
func (r Reach) check() error {
	if r != First && r != Smooth && r != "" {
		return data.Invalid("reach", strconv.Quote(string(r)),
			fmt.Sprintf("%s (the first recorded value at the target) or %s (where the smoothed curve reaches it)", First, Smooth))
	}
	return nil
}
