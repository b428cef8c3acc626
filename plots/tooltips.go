package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Tooltip is a text that a page shows while the pointer is near a place of a figure.
// X and Y are points from the top left corner of the figure at its own size.
type Tooltip struct {
	X, Y vg.Length
	Text string
}

// tooltip is a [Tooltip] in data coordinates.
type tooltip struct {
	x, y float64
	text string
}

// Tooltips implements [Figure]: for every point of measurements and curves in the frame.
func (c *Chart) Tooltips() []Tooltip {
	w, h := c.Size()
	return c.tooltipsIn(vg.Point{X: w, Y: h})
}

// tooltipsIn returns the tooltips of the chart drawn at a size.
func (c *Chart) tooltipsIn(size vg.Point) []Tooltip {
	f := c.frame(draw.NewCanvas(&recorder.Canvas{}, size.X, size.Y))
	var out []Tooltip
	for _, s := range c.tooltips {
		if at := f.at(s.x, s.y); f.Contains(at) {
			out = append(out, Tooltip{X: at.X, Y: size.Y - at.Y, Text: s.text})
		}
	}
	return out
}

// addTooltips adds the tooltips of a series: measurements last, on top of predictions.
func (c *Chart) addTooltips(s Series) {
	for _, b := range s.Curve {
		what := "predicted"
		if b.Extrapolated {
			what = "extrapolated"
		}
		c.tooltips = append(c.tooltips, tooltip{b.X, b.Mean, c.say(s.Name, b.X, what, b.Mean, b.Lo, b.Hi, 90)})
	}
	for _, p := range s.Points {
		if p.ok() {
			c.tooltips = append(c.tooltips, tooltip{p.X, p.Y, c.say(s.Name, p.X, "measured", p.Y, p.Lo, p.Hi, 95)})
		}
	}
}

// say puts one point into words, in the units of the axes.
func (c *Chart) say(name string, x float64, what string, y, lo, hi float64, level int) string {
	quantity, unit := splitUnit(c.YLabel)
	s := fmt.Sprintf("%s\n%s %s: %s%s", amount(x, c.XLabel), what, quantity, Number(y), unit)
	if name != "" {
		s = name + "\n" + s
	}
	if hi > lo {
		s += fmt.Sprintf("\n%d %%: %s–%s%s", level, Number(lo), Number(hi), unit)
	}
	return s
}

// amount writes a value of an axis with its name or unit: "8 workers".
func amount(x float64, label string) string {
	what, unit := splitUnit(label)
	if unit != "" {
		return what + " " + Number(x) + unit
	}
	if x == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return Number(x) + " " + what
}

// splitUnit takes a label such as "speed (steps/s)" apart; the unit starts with a blank.
func splitUnit(label string) (what, unit string) {
	if i := strings.LastIndex(label, " ("); i >= 0 && strings.HasSuffix(label, ")") {
		return label[:i], " " + label[i+2:len(label)-1]
	}
	return label, ""
}
