package convergence

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// Settings controls [Fit]. The zero value is the
// default: curve × horizon, as nothing is known but the record.
type Settings struct {
	// Family is [Auto] (also the empty string), or one of
	// [FamilyNames] for a single published curve.
	Family string
	// PlannedEpochs is the planned length of the run, 0 if unknown. Where no
	// epochs are recorded, a point of the record counts as one.
	PlannedEpochs float64
	// Milestones are the epochs after which the learning rate is cut.
	Milestones []float64
	// Templates are finished runs of the same job at other batch sizes. They
	// should share its optimizer, learning-rate schedule and length: others
	// make intervals too narrow.
	Templates [][]data.CurvePoint
}

// Curve is a fitted training curve: how the loss falls with optimizer
// steps at the initial batch. It holds the curve as recorded, from which
// [Curve.Target] answers and [Curve.Course] is drawn.
//
// Losses inside are (loss − Offset)/Scale, so from above 0 to 1.
type Curve struct {
	Family string        `json:"family"`
	Scale  float64       `json:"scale"`            // largest loss seen, less Offset
	Offset float64       `json:"offset,omitempty"` // 0 unless losses are negative
	Points int           `json:"points"`
	LastX  float64       `json:"last_x"`           // steps seen
	Rising *RisingMetric `json:"rising,omitempty"` // set if the curve is a metric that rises
	Seen   []SeenPoint   `json:"seen"`             // where new lows of the smoothed record were first seen, thinned out
	// Recorded is the curve without outliers, averaged over at most 128 stretches.
	Recorded []SeenPoint `json:"recorded"`
	// EpochSteps is the length of an epoch in steps, 0 if unknown.
	EpochSteps float64    `json:"epoch_steps,omitempty"`
	Planned    float64    `json:"planned,omitempty"`    // steps of the whole run, 0 if unknown
	Milestones []float64  `json:"milestones,omitempty"` // steps after which the learning rate is cut, ascending
	Templates  []Template `json:"templates,omitempty"`  // finished runs of the job
	Single     *SingleFit `json:"single,omitempty"`     // set if a published curve was asked for
}

// RisingMetric says how a metric that rises was turned into a loss: the loss
// is Ceiling − metric.
type RisingMetric struct {
	Ceiling float64 `json:"ceiling"`
}

// SeenPoint is a point of the record, and among the lows one where the loss
// was first at or under Loss.
type SeenPoint struct {
	X    float64 `json:"x"`
	Loss float64 `json:"loss"` // in the terms of [Curve]
}

const (
	// minCurvePoints is the fewest points of one curve that say in which
	// direction it goes.
	minCurvePoints = 2
	// minSinglePoints is the fewest a single curve is fitted to: three
	// parameters and one to contradict them.
	minSinglePoints = 4
	// minTemplate is the fewest points of a finished run worth comparing with.
	minTemplate = 4
	// mostRecorded is the number of stretches a record is averaged over: more
	// would tell no more, as neighbours hardly differ.
	mostRecorded = 128
	// mostSingle is the same for single curves, which should pass for those
	// that were published and take all points of records of usual length.
	mostSingle = 2048
)

// Fit fits training curves, x being steps at the initial
// batch, in samples (0 if unknown).
//
// The loss is used if recorded, otherwise the metric; a metric that rises is
// turned into a falling one. x is Progress where recorded, otherwise Step
// scaled by GlobalBatch/initial where both are known, otherwise Step,
// otherwise Epoch. Points without both, or with NaN or an infinity, are left
// out. Runs are cleaned of outliers apart ([Hampel]; [Preprocess] for
// Optimus's own family) and fitted together.
//
// It fails, with a *[data.InputError], if fewer than two points hold both
// numbers (four for a published family), if none lies beyond step 0, for an
// unknown family, for a template of fewer than four points, and for planned
// epochs or milestones that are not above 0 (0 planned epochs are unknown).
func Fit(points []data.CurvePoint, initialBatch float64, s Settings) (*Curve, error) {
	single := s.Family != "" && s.Family != Auto
	var family singleFamily
	if single {
		var err error
		if family, err = familyNamed(s.Family); err != nil {
			return nil, err
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	pick := pickCurve(points, s.Templates, initialBatch)
	c := &Curve{Family: CurveHorizon, Rising: pick.rising, Scale: 1}
	xs, ls, err := c.gather(pick.runs(points), s.Family)
	if err != nil {
		return nil, err
	}
	c.Seen, c.Recorded = newLows(xs, smoothed(ls)), stretches(xs, ls, mostRecorded)
	if c.Templates, err = c.newTemplates(s.Templates, pick); err != nil {
		return nil, err
	}
	c.plan(points, pick, s)
	switch {
	case single:
		if len(xs) > mostSingle {
			xs, ls = apart(stretches(xs, ls, mostSingle))
		}
		c.Family, c.Single = family.name, family.fit(xs, ls)
	case len(c.Templates) > 0:
		c.Family = TemplateHits
	}
	return c, nil
}

// check refuses plans that make no sense.
func (s Settings) check() error {
	if !(s.PlannedEpochs >= 0) || math.IsInf(s.PlannedEpochs, 1) {
		return &data.InputError{Source: data.Source{Column: "planned epochs"},
			Found: fmt.Sprint(s.PlannedEpochs), Want: "epochs above 0, or 0 if unknown"}
	}
	for _, m := range s.Milestones {
		if !(m > 0) || math.IsInf(m, 1) {
			return &data.InputError{Source: data.Source{Column: "milestones"}, Found: fmt.Sprint(m), Want: "epochs above 0"}
		}
	}
	return nil
}

// gather cleans the runs, sets what scales them, and returns all points in
// order of x.
func (c *Curve) gather(runs []curveRun, family string) (xs, ls []float64, err error) {
	clean, want := Hampel, minCurvePoints
	if family != "" && family != Auto {
		want = minSinglePoints
		if family == optimusName {
			clean = Preprocess
		}
	}
	for _, r := range runs {
		xs = append(xs, r.x...)
		for i, y := range r.y {
			r.y[i] = c.toLoss(y)
		}
		ls = append(ls, clean(r.y)...)
	}
	if len(xs) < want {
		return nil, nil, &data.InputError{Source: data.Source{Column: "loss"},
			Found: fmt.Sprintf("%d usable curve points", len(xs)),
			Want:  fmt.Sprintf("at least %d with a step or progress and a loss or metric", want)}
	}
	c.Points, c.LastX = len(xs), slices.Max(xs)
	if !(c.LastX > 0) {
		return nil, nil, &data.InputError{Source: data.Source{Column: "step"}, Found: "no step above 0",
			Want: "a curve that covers some steps"}
	}
	low, high := slices.Min(ls), slices.Max(ls)
	if low < 0 { // the published forms are of losses above 0
		c.Offset = low - .05*(high-low)
	}
	if c.Scale = high - c.Offset; c.Scale <= 0 {
		c.Scale = 1 // all are 0
	}
	order := ascending(xs)
	sortedX, sortedL := make([]float64, len(xs)), make([]float64, len(xs))
	for i, j := range order {
		sortedX[i], sortedL[i] = xs[j], (ls[j]-c.Offset)/c.Scale
	}
	return sortedX, sortedL, nil
}

// plan converts epochs into steps.
func (c *Curve) plan(points []data.CurvePoint, pick curvePicker, s Settings) {
	var epochs, longest float64
	for _, p := range points {
		if x := pick.x(p); finite(x) && finite(p.Epoch) {
			epochs = math.Max(epochs, p.Epoch)
		}
	}
	if epochs == 0 {
		for _, r := range pick.runs(points) {
			longest = math.Max(longest, float64(len(r.x)))
		}
		epochs = longest
	}
	c.EpochSteps = c.LastX / epochs
	c.Planned = s.PlannedEpochs * c.EpochSteps
	for _, m := range s.Milestones {
		c.Milestones = append(c.Milestones, m*c.EpochSteps)
	}
	slices.Sort(c.Milestones)
}

// toLoss turns what was recorded into the terms of c.
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

// lookEvery returns the steps between points of the record.
func (c *Curve) lookEvery() float64 { return c.LastX / float64(len(c.Recorded)) }

// stretches averages a curve, in order of x, over at most so many stretches.
func stretches(xs, ls []float64, most int) []SeenPoint {
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

// apart is the inverse of what makes points of two columns.
func apart(points []SeenPoint) (xs, ls []float64) {
	for _, p := range points {
		xs, ls = append(xs, p.X), append(ls, p.Loss)
	}
	return xs, ls
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

// smoothed returns the running mean of a record over as many points as make
// one of its stretches, so none where there are at most mostRecorded. Of
// thousands of noisy losses the luckiest lies far under what the training has
// reached, and what is foreseen are stretches too. The last half window has
// no mean and is left out.
func smoothed(ls []float64) []float64 {
	half := len(ls) / mostRecorded / 2
	if half == 0 {
		return ls
	}
	sums := make([]float64, len(ls)+1)
	for i, l := range ls {
		sums[i+1] = sums[i] + l
	}
	out := make([]float64, len(ls)-half)
	for i := range out {
		h := min(half, i)
		out[i] = (sums[i+h+1] - sums[i-h]) / float64(2*h+1)
	}
	return out
}

// newLows returns where a curve, in order of x, first went below all before,
// at most 64 points, the last low always among them.
func newLows(xs, ls []float64) []SeenPoint {
	var lows []SeenPoint
	low := math.Inf(1)
	for i, l := range ls {
		if l < low {
			low = l
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

// Check says what is wrong with a fit that came from a file.
func (c *Curve) Check() error {
	if !(c.Scale > 0) || !(c.LastX > 0) || len(c.Seen) == 0 || len(c.Recorded) == 0 {
		return errors.New("want a positive scale, steps above 0, lows seen and a recorded curve")
	}
	for i, t := range c.Templates {
		if len(t.Recorded) < minTemplate || !(t.Recorded[len(t.Recorded)-1].X > 0) {
			return fmt.Errorf("template %d has %d points, want at least %d that go beyond step 0", i+1, len(t.Recorded), minTemplate)
		}
	}
	if !(c.EpochSteps >= 0) || !(c.Planned >= 0) || c.Planned > 1e9*c.LastX {
		return fmt.Errorf("epoch_steps %g and planned %g, want steps of at least 0", c.EpochSteps, c.Planned)
	}
	if c.Single != nil && c.single() == nil {
		return fmt.Errorf("single: %d parameters are not those of a curve %q", len(c.Single.Parameters), c.Family)
	}
	return nil
}
