package plots

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
	"knee/fit/convergence"
	"knee/internal/list"
)

// curvePoints is how many points a fitted curve is drawn through.
const curvePoints = 120

// NewConvergence draws a fitted training curve, its points in steps at the batch initial
// (0: as recorded), to 1.3 times the recorded steps or the target; never reached is a warning.
func NewConvergence(c *convergence.Curve, points []data.CurvePoint, initial float64, target *float64) (fig *Chart, warnings []string, err error) {
	spec := course{Title: "Convergence", Subtitle: courseSubtitle(c, nil), Target: target, XLabel: "step"}
	spec.Points, spec.YLabel = curveDots(convergence.AtInitialBatch(points, initial), c.Rising != nil)
	if c.Rising == nil {
		spec.Top = c.Offset + c.Scale
	}
	if len(points) > 0 && points[0].Job != "" {
		spec.Title = "Convergence of " + points[0].Job
	}
	switch {
	case c.Epochs:
		spec.XLabel = "epoch"
	case initial > 0:
		spec.XLabel = fmt.Sprintf("step at batch %s", Number(initial))
	}
	end, given := 1.3*c.LastX, target
	if target != nil {
		t, err := c.Target(*target)
		var never *convergence.NeverReachedError
		switch {
		case err == nil && t.Chance < .5:
			spec.Subtitle += fmt.Sprintf("; the target is reached with a probability of %.0f %%", 100*t.Chance)
			given = nil
			warnings = append(warnings, t.Notes...)
		case err == nil:
			spec.Crossing, spec.Subtitle = &t.Steps, courseSubtitle(c, &t)
			end = max(end, min(1.1*t.Steps.Hi, max(5*c.LastX, 1.3*t.Steps.Mean)))
			warnings = append(warnings, t.Notes...)
		case errors.As(err, &never):
			warnings = append(warnings, err.Error())
		default:
			return nil, nil, err
		}
	}
	fitted := c.Course(given)
	if fitted.Cut {
		spec.Subtitle += ", fitted from step " + Number(fitted.From)
	}
	for i := range curvePoints {
		u := float64(i) / (curvePoints - 1) // denser where the curve falls fast
		x := fitted.From + (end-fitted.From)*u*u
		spec.Curve = append(spec.Curve, BandOf(x, fitted.Band(x), x > c.LastX))
	}
	fig, err = spec.draw()
	return fig, warnings, err
}

// courseSubtitle names the source of a course and, with a reached target, its condition.
func courseSubtitle(c *convergence.Curve, t *convergence.Answer) string {
	from := fmt.Sprintf("median of many curves that fit the record (%s)", c.Family)
	switch {
	case c.Family == convergence.Optimus:
		from = "the form " + c.Family
	case len(c.Templates) > 0:
		from = fmt.Sprintf("median of many curves that fit the record and finished runs (%s)", c.Family)
	}
	switch {
	case t != nil && t.Method == "recorded":
		from += "; the target was reached in the record"
	case t != nil && c.Family != convergence.Optimus:
		from += fmt.Sprintf(", if the target is reached (probability %.0f %%)", 100*t.Chance)
	}
	return "curve: " + from
}

// curveDots returns the losses of a curve, or the metric where none is recorded.
func curveDots(points []data.CurvePoint, rising bool) ([]Point, string) {
	if dots := lossPoints(points); len(dots) > 0 && !rising {
		return dots, "loss"
	}
	for i := range points {
		points[i].Loss = points[i].Metric
	}
	return lossPoints(points), "metric"
}

// lossPoints returns the points that have both a step and a loss, in order. An infinite
// loss (training diverged) stays; [NewConvergence] refuses it.
func lossPoints(curve []data.CurvePoint) []Point {
	var pts []Point
	for _, p := range curve {
		if !math.IsNaN(p.Step) && !math.IsNaN(p.Loss) {
			pts = append(pts, Point{X: p.Step, Y: p.Loss})
		}
	}
	return pts
}

// course describes a figure of loss against step.
type course struct {
	Title, Subtitle string
	Points          []Point        // X in steps, Y the loss
	Top             float64        // largest loss that is no outlier; 0: not known
	Curve           []Band         // fitted loss, X ascending; nil for none
	Target          *float64       // target loss; nil for none
	Crossing        *data.Estimate // steps at which the curve reaches the target; nil if not known or never
	XLabel, YLabel  string
}

// mostDots is how many measured losses are drawn: more would hide one another.
const mostDots = 600

// draw draws every k-th of more than 600 points, and the legend says so.
func (s course) draw() (*Chart, error) {
	if s.Crossing != nil && s.Target == nil {
		return nil, bad("target", "none", "a target loss, as a crossing is given")
	}
	if err := cmp.Or(check("", s, finite), checkDrawable("points", s.Points, len(s.Curve))); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, s.XLabel, s.YLabel)
	s.setAxes(c.Plot)
	fit := []Series{{Name: "fitted", Curve: s.Curve}}
	extrapolated := c.addExtrapolated(fit)
	c.addLosses(s.Points)
	if len(s.Curve) > 0 {
		curve := solid(palette[1])
		c.add(ribbon(s.Curve, fade(palette[1], 0.2)))
		c.addCurve(s.Curve, curve)
		c.explain(entry{label: "fitted", line: curve})
	}
	c.addCommonEntries(fit, extrapolated)
	c.addTarget(s)
	return c, nil
}

// setAxes makes room for points, curve, target and crossing.
func (s course) setAxes(p *plot.Plot) {
	x, y, recorded := newExtent(), newExtent(), newExtent()
	for _, pt := range s.Points {
		x.add(pt.X)
		if pt.X > 0 {
			recorded.add(pt.X)
		}
		if s.Top > 0 { // an outlier would flatten the course: as far as ribbons
			pt.Y = math.Min(pt.Y, 1.5*s.Top)
		}
		y.add(pt.Y)
	}
	for _, b := range s.Curve {
		x.add(b.X)
		y.add(b.Mean)
	}
	if s.Target != nil {
		y.add(*s.Target)
	}
	if s.Crossing != nil {
		x.add(s.Crossing.Mean, math.Min(s.Crossing.Hi, 1.3*x.hi))
	}
	// The tail of the curve is what matters: no room for zero.
	set := func(a *plot.Axis, of, room extent) {
		if of.lo >= 0 {
			room.lo = math.Max(0, room.lo)
		}
		room.set(a, plot.LinearScale{}, linearTicks{want: 7})
	}
	if recorded.lo > 0 && x.hi > 30*recorded.hi { // the record would be a line at the left
		x.lo = recorded.lo
		x.padLog(0.02, 0.03).set(&p.X, plot.LogScale{}, decadeTicks{})
	} else {
		set(&p.X, x, x.pad(0.02, 0.03))
	}
	set(&p.Y, y, y.pad(0.08, 0.05))
}

// addLosses adds the measured losses, thinned to mostDots.
func (c *Chart) addLosses(pts []Point) {
	if len(pts) == 0 {
		return
	}
	kept, some := sampled(pts, mostDots)
	glyph := mark(palette[0], draw.CircleGlyph{})
	if len(kept) > 40 {
		glyph = draw.GlyphStyle{Color: fade(palette[0], 0.5), Radius: 1.7, Shape: draw.CircleGlyph{}}
	}
	if above := list.Count(pts, func(p Point) bool { return p.Y > c.Plot.Y.Max }); above > 0 {
		some += fmt.Sprintf(", %s above", english.Plural(above, "outlier", ""))
	}
	c.add(dots(glyph, kept))
	c.explain(entry{label: "measured" + some, glyph: glyph})
}

// addTarget draws the target line, and when it is reached with its interval.
func (c *Chart) addTarget(s course) {
	if s.Target == nil {
		return
	}
	green := palette[2]
	c.add(level(draw.LineStyle{Color: green, Width: 1.1, Dashes: []vg.Length{6, 2.5}}, *s.Target))
	text, at := "target "+Number(*s.Target), c.Plot.X.Min
	if e := s.Crossing; e != nil {
		at = e.Mean
		c.background = append(c.background, zone(fade(green, 0.18), e.Lo, e.Hi, *s.Target))
		c.add(drop(draw.LineStyle{Color: green, Width: thinWidth, Dashes: dashPattern}, e.Mean, *s.Target),
			marker(mark(green, haloGlyph{}), e.Mean, *s.Target))
		unit, _, _ := strings.Cut(s.XLabel, " ") // step at batch 32
		text += fmt.Sprintf(" at %s %s", unit, Number(e.Mean))
		if e.Hi > e.Lo {
			text += fmt.Sprintf(" (%s to %s)", Number(e.Lo), Number(e.Hi))
			c.explain(entry{label: "90 % interval, crossing", fill: fade(green, 0.18)})
		}
	}
	c.annotations = append(c.annotations, annotation{at, *s.Target, text, green})
}
