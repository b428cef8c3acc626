package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// SearchTrial is one trial of a search.
type SearchTrial struct {
	Number int         // 1-based, ascending
	Value  float64     // of the objective; ignored unless the status is ok
	Status data.Status // empty means ok
	Label  string      // of the configuration; written beside the best
}

// Search describes the progress of a search: every trial, and the best so
// far.
type Search struct {
	Title, Subtitle string
	Objective       string // axis label with unit, such as "cost to target (US$)"
	Minimize        bool   // smaller is better
	Trials          []SearchTrial
	Initial         int      // trials of the initial design, shaded; 0 for none
	Optimum         *float64 // best value there is, if known
	LogY            bool
}

// NewSearch returns the figure, or an error that names the first field that
// cannot be drawn.
func NewSearch(s Search) (*Chart, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, "trial", s.Objective)
	s.setAxes(c.Plot)
	if s.Initial > 0 {
		c.layers = append(c.layers, zone{from: c.Plot.X.Min, to: float64(s.Initial) + 0.5, fill: shadeColor})
	}
	var optimum legend // listed after what the search did
	if s.Optimum != nil {
		sty := draw.LineStyle{Color: palette[2], Width: 1.1, Dashes: dashed()}
		c.layers = append(c.layers, level{*s.Optimum, sty})
		optimum = legend{{label: "optimum", line: &sty}}
	}
	c.addBest(s)
	c.addTrials(s)
	c.legend = append(c.legend, optimum...)
	if s.Initial > 0 {
		c.legend = append(c.legend, entry{label: "initial design", fill: shadeColor})
	}
	return c, nil
}

func (s Search) check() error {
	value := finite
	if s.LogY {
		value = positive
	}
	if err := checkName("objective", s.Objective); err != nil {
		return err
	}
	if s.Initial < 0 {
		return bad("initial", fmt.Sprint(s.Initial), "a number of trials ≥ 0")
	}
	pts := make([]Point, len(s.Trials))
	for i, t := range s.Trials {
		at := fmt.Sprintf("trials[%d]", i)
		switch {
		case t.Number < 1:
			return bad(at+".number", fmt.Sprint(t.Number), "a trial number ≥ 1")
		case i > 0 && t.Number <= s.Trials[i-1].Number:
			return bad(at+".number", fmt.Sprint(t.Number), fmt.Sprintf("more than %d, the trial before it", s.Trials[i-1].Number))
		}
		if pts[i].Status = t.Status; pts[i].ok() {
			if err := value(at+".value", t.Value); err != nil {
				return err
			}
		}
	}
	if s.Optimum != nil {
		if err := value("optimum", *s.Optimum); err != nil {
			return err
		}
	}
	return checkDrawable("trials", pts, 0)
}

// setAxes makes room for every trial and the optimum.
func (s Search) setAxes(p *plot.Plot) {
	y := newExtent()
	for _, t := range s.ok() {
		y.add(t.Value)
	}
	if s.Optimum != nil {
		y.add(*s.Optimum)
	}
	setY(p, y, s.LogY, min(1, len(s.Trials)-len(s.ok())))
	first, last := s.Trials[0].Number, s.Trials[len(s.Trials)-1].Number
	x := extent{math.Min(1, float64(first)) - 0.5, float64(last) + 0.5}
	x.set(&p.X, plot.LinearScale{}, linearTicks{want: 12, whole: true})
}

// ok returns the trials that have a value.
func (s Search) ok() []SearchTrial {
	var out []SearchTrial
	for _, t := range s.Trials {
		if t.Status == "" || t.Status == data.OK {
			out = append(out, t)
		}
	}
	return out
}

// addBest adds the staircase of the best value so far, and names the best.
func (c *Chart) addBest(s Search) {
	trials := s.ok()
	best := trials[0]
	stairs := line{style: draw.LineStyle{Color: palette[1], Width: curveWidth}}
	step := func(x, y float64) { stairs.xs, stairs.ys = append(stairs.xs, x), append(stairs.ys, y) }
	step(float64(best.Number), best.Value)
	for _, t := range trials[1:] {
		if t.Value != best.Value && (t.Value < best.Value) == s.Minimize {
			step(float64(t.Number), best.Value)
			step(float64(t.Number), t.Value)
			best = t
		}
	}
	step(float64(s.Trials[len(s.Trials)-1].Number), best.Value)
	text := fmt.Sprintf("best %s, trial %d", number(best.Value), best.Number)
	if best.Label != "" {
		text += ": " + best.Label
	}
	c.layers = append(c.layers, stairs,
		marker{float64(best.Number), best.Value, draw.GlyphStyle{Color: palette[1], Radius: markRadius, Shape: haloGlyph{}}})
	c.annotations = append(c.annotations, annotation{x: float64(best.Number), y: best.Value, text: text, color: palette[1], bold: true})
	c.legend = append(c.legend, entry{label: "best so far", line: &stairs.style})
}

// mostTrials is how many trials are drawn: more would hide one another and swell
// the file.
const mostTrials = 2000

// addTrials adds a dot for every trial with a value and, along the axis, a
// cross in the colour of its status for every other; of more than mostTrials
// every so many-th, which the legend says.
func (c *Chart) addTrials(s Search) {
	var ok []Point
	others := map[data.Status][]float64{}
	every := (len(s.Trials) + mostTrials - 1) / mostTrials
	some := ""
	if every > 1 {
		some = fmt.Sprintf(", 1 of %d drawn", every)
	}
	for i, t := range s.Trials {
		switch {
		case i%every != 0:
		case t.Status == "" || t.Status == data.OK:
			ok = append(ok, Point{X: float64(t.Number), Y: t.Value})
		default:
			others[t.Status] = append(others[t.Status], float64(t.Number))
		}
	}
	glyph := draw.GlyphStyle{Color: palette[0], Radius: markRadius, Shape: draw.CircleGlyph{}}
	c.layers = append(c.layers, dots{ok, glyph})
	if every > 1 {
		c.layers[len(c.layers)-1] = dots{ok, draw.GlyphStyle{Color: fade(palette[0], 0.5), Radius: 1.7, Shape: draw.CircleGlyph{}}}
	}
	// The marker of the best stays on top of the dots.
	for i, m := range c.layers {
		if p, is := m.(marker); is {
			c.layers = append(append(c.layers[:i:i], c.layers[i+1:]...), p)
			break
		}
	}
	c.legend = append(c.legend, entry{label: "trial" + some, glyph: &glyph})
	for i, status := range data.Statuses() {
		if xs := others[status]; len(xs) > 0 {
			cross := draw.GlyphStyle{Color: statusColor(i), Radius: markRadius, Shape: crossGlyph{}}
			c.layers = append(c.layers, rug{xs: xs, glyph: cross})
			c.legend = append(c.legend, entry{label: statusLabel(status) + some, glyph: &cross})
		}
	}
}
