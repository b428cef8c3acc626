package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// Convergence describes a figure of loss against step: what was measured,
// the fitted curve with its interval, the target and when it is reached.
type Convergence struct {
	Title, Subtitle string
	Points          []Point        // X in steps, Y the loss
	Curve           []Band         // fitted loss, X ascending; nil for none
	Target          *float64       // target loss; nil for none
	Crossing        *data.Estimate // steps at which the curve reaches the target; nil if not known or never
	XLabel, YLabel  string         // "step" and "loss" if empty
	LogY            bool           // logarithmic loss
}

// LossPoints returns the points of a training curve that have both a step
// and a loss, in order; loss that is infinite (training diverged) is left in
// place for [NewConvergence] to refuse by name.
func LossPoints(curve []data.CurvePoint) []Point {
	var pts []Point
	for _, p := range curve {
		if !math.IsNaN(p.Step) && !math.IsNaN(p.Loss) {
			pts = append(pts, Point{X: p.Step, Y: p.Loss})
		}
	}
	return pts
}

// mostDots is how many measured losses are drawn at most: more than the
// figure has columns would hide one another and swell the file.
const mostDots = 600

// NewConvergence returns the figure, or an error that names the first field
// that cannot be drawn. Of more than 600 points every k-th is drawn, and the
// legend says so.
func NewConvergence(s Convergence) (*Chart, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, orElse(s.XLabel, "step"), orElse(s.YLabel, "loss"))
	s.setAxes(c.Plot)
	fit := Series{Name: "fitted", Curve: s.Curve}
	extrapolated := c.addExtrapolated([]Series{fit})
	c.addCrossing(s)
	c.addLosses(s.Points)
	if len(s.Curve) > 0 {
		c.layers = append(c.layers, ribbon{s.Curve, fade(palette[1], 0.2)})
		c.addCurve(s.Curve, draw.LineStyle{Color: palette[1], Width: curveWidth})
		c.legend = append(c.legend, entry{label: fit.Name, line: &draw.LineStyle{Color: palette[1], Width: curveWidth}})
	}
	c.addCommonEntries([]Series{fit}, extrapolated)
	if s.Crossing != nil && s.Crossing.Hi > s.Crossing.Lo {
		c.legend = append(c.legend, entry{label: "90 % interval, crossing", fill: fade(palette[2], 0.18)})
	}
	c.addTarget(s)
	return c, nil
}

func (s Convergence) check() error {
	value := finite
	if s.LogY {
		value = positive
	}
	for i, p := range s.Points {
		at := fmt.Sprintf("points[%d]", i)
		if err := finite(at+".x", p.X); err != nil {
			return err
		}
		if err := value(at+".y", p.Y); err != nil {
			return err
		}
	}
	for i, b := range s.Curve {
		if err := value(fmt.Sprintf("curve[%d].mean", i), b.Mean); err != nil {
			return err
		}
	}
	if err := checkBands("curve", s.Curve, finite); err != nil {
		return err
	}
	if s.Target != nil {
		if err := value("target", *s.Target); err != nil {
			return err
		}
	}
	if e := s.Crossing; e != nil {
		if s.Target == nil {
			return bad("target", "none", "a target loss, as a crossing is given")
		}
		if err := finite("crossing.mean", e.Mean); err != nil {
			return err
		}
		if err := checkInterval("crossing", e.Lo, e.Mean, e.Hi); err != nil {
			return err
		}
	}
	return checkDrawable("points", s.Points, len(s.Curve))
}

// setAxes makes room for points, curve, target and crossing.
func (s Convergence) setAxes(p *plot.Plot) {
	x, y := newExtent(), newExtent()
	for _, pt := range s.Points {
		x.add(pt.X)
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
	if y.lo < 0 || s.LogY {
		setY(p, y, s.LogY, 0)
	} else {
		// The tail of the curve is what matters: no room for zero.
		room := y.pad(0.08, 0.05)
		room.lo = math.Max(0, room.lo)
		room.set(&p.Y, plot.LinearScale{}, linearTicks{want: 6})
	}
	room := x.pad(0.02, 0.03)
	if x.lo >= 0 {
		room.lo = math.Max(0, room.lo)
	}
	room.set(&p.X, plot.LinearScale{}, linearTicks{want: 7})
}

// addLosses adds the measured losses, thinned to mostDots.
func (c *Chart) addLosses(pts []Point) {
	if len(pts) == 0 {
		return
	}
	every := (len(pts) + mostDots - 1) / mostDots
	var kept []Point
	for i := 0; i < len(pts); i += every {
		kept = append(kept, pts[i])
	}
	label := "measured"
	if every > 1 {
		label = fmt.Sprintf("measured, 1 of %d drawn", every)
	}
	glyph := draw.GlyphStyle{Color: fade(palette[0], 0.5), Radius: 1.7, Shape: draw.CircleGlyph{}}
	if len(kept) <= 40 {
		glyph = draw.GlyphStyle{Color: palette[0], Radius: markRadius, Shape: draw.CircleGlyph{}}
	}
	c.layers = append(c.layers, dots{kept, glyph})
	c.legend = append(c.legend, entry{label: label, glyph: &glyph})
}

// addCrossing shades the interval of the crossing and marks its mean.
func (c *Chart) addCrossing(s Convergence) {
	if s.Crossing == nil {
		return
	}
	e := s.Crossing
	c.layers = append(c.layers, zone{from: e.Lo, to: e.Hi, top: s.Target, fill: fade(palette[2], 0.18)})
}

// addTarget draws the target line and says when it is reached.
func (c *Chart) addTarget(s Convergence) {
	if s.Target == nil {
		return
	}
	green := palette[2]
	c.layers = append(c.layers, level{*s.Target, draw.LineStyle{Color: green, Width: 1.1, Dashes: []vg.Length{6, 2.5}}})
	text := "target " + number(*s.Target)
	at := c.Plot.X.Min
	if e := s.Crossing; e != nil {
		at = e.Mean
		c.layers = append(c.layers,
			verticalLine{e.Mean, *s.Target, draw.LineStyle{Color: green, Width: thinWidth, Dashes: dashed()}},
			marker{e.Mean, *s.Target, draw.GlyphStyle{Color: green, Radius: markRadius, Shape: haloGlyph{}}})
		text += " at step " + number(e.Mean)
		if e.Hi > e.Lo {
			text += fmt.Sprintf(" (%s to %s)", number(e.Lo), number(e.Hi))
		}
	}
	c.annotations = append(c.annotations, annotation{x: at, y: *s.Target, text: text, color: green, bold: true})
}

// orElse returns s, or the default if s is empty.
func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
