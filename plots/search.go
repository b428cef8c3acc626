package plots

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/bayesopt"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/profile"
	"knee/profile/space"
)

// NewSearch draws the trials of a search in order, and the highest so far, by throughput,
// or by steps per second if a batch is not known. It fails if no trial is ok.
func NewSearch(title string, trials []data.Measurement) (*Chart, error) {
	q := Throughput
	if slices.ContainsFunc(trials, func(m data.Measurement) bool { return m.StepTime > 0 && !(m.Throughput() > 0) }) {
		q = Speed
	}
	pts, err := MeasuredPoints(trials, q)
	y, failed := newExtent(), 0
	for i, p := range pts {
		pts[i] = Point{X: float64(i + 1), Y: p.Y, Status: p.Status}
		if p.ok() {
			y.add(p.Y)
		} else {
			failed = 1
		}
	}
	if err := cmp.Or(err, check("trials", pts, positive), checkDrawable("trials", pts, 0)); err != nil {
		return nil, err
	}
	c := newChart(cmp.Or(title, "Search of "+trials[0].Job), "", "trial", q.label())
	setY(c.Plot, y, false, failed)
	extent{0.5, float64(len(pts)) + 0.5}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 12, whole: true})
	stairs := solid(palette[1])
	c.explain(entry{label: "highest so far", line: stairs})
	xs, ys, best := bestSoFar(pts)
	c.add(polyline(stairs, xs, ys))
	c.addTrials(pts)
	at := pts[best]
	c.add(marker(mark(palette[1], haloGlyph{}), at.X, at.Y))
	c.Subtitle = fmt.Sprintf("highest: trial %d, %s", best+1, trials[best].Config)
	c.annotations = append(c.annotations, annotation{at.X, at.Y, "highest " + Number(at.Y), palette[1]})
	return c, nil
}

// bestSoFar returns the staircase of the best value so far, and the index of the best.
func bestSoFar(pts []Point) (xs, ys []float64, best int) {
	best = -1
	for i, p := range pts {
		if p.ok() && (best < 0 || p.Y > pts[best].Y) {
			best, xs, ys = i, append(xs, p.X), append(ys, p.Y)
		}
	}
	xs, ys = stairs(append(xs, pts[len(pts)-1].X), append(ys, pts[best].Y))
	return xs[:len(xs)-1], ys[:len(ys)-1], best
}

// mostTrials is how many trials are drawn: more would hide one another.
const mostTrials = 2000

// addTrials adds a dot for every trial with a value and a cross on the axis for others.
func (c *Chart) addTrials(pts []Point) {
	kept, some := sampled(pts, mostTrials)
	ok := slices.DeleteFunc(slices.Clone(kept), func(p Point) bool { return !p.ok() })
	glyph := mark(palette[0], draw.CircleGlyph{})
	if some != "" {
		glyph.Color, glyph.Radius = fade(palette[0], 0.5), 1.7
	}
	c.add(dots(glyph, ok))
	c.explain(entry{label: "trial" + some, glyph: glyph})
	_, by := grouped.By(kept, func(p Point) data.Status { return p.Status })
	for i, status := range data.Statuses() {
		if others := by[status]; len(others) > 0 && status != data.OK {
			cross := mark(statusColor(i), crossGlyph{})
			c.add(rug(cross, list.Map(others, func(p Point) float64 { return p.X }), 0))
			c.explain(entry{label: statusLabel(status) + some, glyph: cross})
		}
	}
}

// NewSurrogate draws what the guided search of a study predicts along a knob after some
// trials, see [bayesopt.Guided.Slice], with the statistical efficiency of the training
// curves; 1 without gradient statistics.
func NewSurrogate(study *data.Study, trials []data.Measurement, curves []data.CurvePoint, knob string) (*Panels, error) {
	return drawn(surrogateOf(study, trials, curves, knob))
}

func surrogateOf(study *data.Study, trials []data.Measurement, curves []data.CurvePoint, knob string) (surrogate, error) {
	candidates, err := space.Candidates(study)
	if err != nil {
		return surrogate{}, err
	}
	strategy, err := profile.NewStrategy(study, profile.Search{}, profile.EfficiencyOf(curves, study))
	if err != nil {
		return surrogate{}, err
	}
	guided, ok := strategy.(*bayesopt.Guided) // the default
	if !ok {
		return surrogate{}, errors.New("plots: only the guided search predicts")
	}
	history := bayesopt.History{Candidates: candidates, Measured: trials}
	next, err := guided.Next(history)
	if err != nil {
		return surrogate{}, err
	}
	slice, err := guided.Slice(history, knob)
	if err != nil {
		return surrogate{}, err
	}
	words := strings.ReplaceAll(knob, "_", " ")
	s := surrogate{Title: "What the search of " + study.Job + " predicts", Subtitle: "everything but " + words + " as in " + slice.Through.String(),
		Knob: words, Objective: objectiveLabel(study)}
	for _, p := range slice.Points {
		s.Prediction = append(s.Prediction, BandOf(p.Value, p.Expected, false))
		s.Gain = append(s.Gain, Band{X: p.Value, Mean: 100 * p.Improvement})
		for _, m := range trials {
			if m.Key() != candidates[p.Index].Key() {
				continue
			}
			if y, ok := guided.Value(m); ok || m.Status != data.OK {
				s.Points = append(s.Points, Point{X: p.Value, Y: y, Status: m.Status})
			}
		}
		if !next.Stop && next.Index == p.Index {
			s.Next = &p.Value
		}
	}
	return s, nil
}

// objectiveLabel names the objective of a study with its unit.
func objectiveLabel(study *data.Study) string {
	o := bayesopt.ObjectiveOf(study.Objective)
	name := strings.ReplaceAll(string(o), "_", " ")
	switch {
	case o == bayesopt.CostToTarget && study.Objective.Samples == 0:
		name = "cost per sample"
	case o == bayesopt.Accuracy:
		name = "step time"
	case o == bayesopt.Goodput:
		return Goodput.label()
	}
	return fmt.Sprintf("%s (%s)", name, o.Unit())
}

// surrogate describes what a search predicts along one knob, and would gain there.
type surrogate struct {
	Title, Subtitle string
	Knob            string // axis label
	Objective       string // axis label with unit
	Prediction      []Band // of the objective, X ascending
	Points          []Point
	Gain            []Band   // expected improvement over the best in per cent, Mean ≥ 0, at the X of Prediction; lo and hi are ignored
	Next            *float64 // the knob's value in the next suggestion; nil for none
}

// leastGain is the least height of the gain axis, in per cent.
const leastGain = 0.01

// gainShare is the part of the height that the lower panel takes.
const gainShare = 0.36

// valueTicks marks every value of a curve.
type valueTicks []Band

func (t valueTicks) Ticks(_, _ float64) []plot.Tick {
	return labelled(list.Map(t, func(b Band) float64 { return b.X }), 0)
}

// apart reports whether the marks have room for their labels: each a twelfth of the axis.
func (t valueTicks) apart(a *plot.Axis) bool {
	for i := range len(t) - 1 {
		if a.Norm(t[i+1].X)-a.Norm(t[i].X) < 1./12 {
			return false
		}
	}
	return true
}

func (s surrogate) draw() (*Panels, error) {
	series := []Series{{Name: "predicted", Points: s.Points, Curve: s.Prediction}}
	if err := cmp.Or(checkSeries(series, finite), check("gain", flat(s.Gain), finite), check("next", s.Next, finite)); err != nil {
		return nil, err
	}
	if len(s.Prediction) == 0 {
		return nil, bad("prediction", "nothing", "at least one value of the knob")
	}
	prediction, gain := newChart(s.Title, s.Subtitle, s.Knob, s.Objective), newChart("", "", s.Knob, "expected gain (%)")
	prediction.Height, gain.Height = 1.3*(1-gainShare)*DefaultHeight, 1.3*gainShare*DefaultHeight
	x, y := extents(series)
	for _, p := range []*plot.Plot{prediction.Plot, gain.Plot} {
		setX(p, x, AutoScale)
		if values := valueTicks(s.Prediction); values.apart(&p.X) {
			p.X.Tick.Marker = values
		}
	}
	setY(prediction.Plot, y, false, failingSeries(series))
	if s.Next != nil {
		next := draw.LineStyle{Color: palette[2], Width: 1.1, Dashes: dashPattern}
		prediction.add(drop(next, *s.Next, math.Inf(1)))
		gain.add(drop(next, *s.Next, math.Inf(1)))
		prediction.explain(entry{label: "suggested next", line: next})
	}
	prediction.addRibbons(series)
	prediction.addSeries(series, 0)
	prediction.addCommonEntries(series, false)
	top := leastGain
	gain.addCurve(flat(s.Gain), solid(palette[1]))
	for _, g := range s.Gain {
		top = math.Max(top, g.Mean)
		gain.add(marker(draw.GlyphStyle{Color: palette[1], Radius: 2, Shape: draw.CircleGlyph{}}, g.X, g.Mean))
	}
	extent{0, 1.12 * top}.set(&gain.Plot.Y, plot.LinearScale{}, linearTicks{want: 3})
	return &Panels{Charts: []*Chart{prediction, gain}, Rows: true}, nil
}

// flat returns the curve without its interval.
func flat(curve []Band) []Band {
	return list.Map(curve, func(b Band) Band { return Band{X: b.X, Mean: b.Mean, Lo: b.Mean, Hi: b.Mean} })
}
