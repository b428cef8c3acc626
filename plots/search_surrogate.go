package plots

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Surrogate describes what a search predicts along one knob, everything else
// as in the best configuration so far, and what it would gain there.
type Surrogate struct {
	Title, Subtitle string
	Knob            string // axis label
	Objective       string // axis label with unit
	Prediction      []Band // of the objective, X ascending
	Points          []Point
	Gain            []Band   // expected improvement over the best in per cent, Mean ≥ 0, at the X of Prediction; lo and hi are ignored
	Next            *float64 // the knob's value in the next suggestion; nil for none
}

// leastGain is the least height of the gain axis, in per cent: smaller gains are not
// magnified.
const leastGain = 0.01

// gainShare is the part of the height that the lower panel takes.
const gainShare = 0.36

// NewSurrogate returns the figure, or an error that names the first field
// that cannot be drawn.
func NewSurrogate(s Surrogate) (*Panels, error) {
	series := []Series{{Name: "predicted", Points: s.Points, Curve: s.Prediction}}
	if err := cmp.Or(checkSeries(series, finite), checkBands("gain", flat(s.Gain), finite), checkFinite("next", s.Next)); err != nil {
		return nil, err
	}
	if len(s.Prediction) == 0 {
		return nil, bad("prediction", "nothing", "at least one value of the knob")
	}
	prediction, gain := newChart(s.Title, s.Subtitle, s.Knob, s.Objective), newChart("", "", s.Knob, "expected gain (%)")
	prediction.Height, gain.Height = 1.3*(1-gainShare)*DefaultHeight, 1.3*gainShare*DefaultHeight
	x, y := extents(series)
	setX(prediction.Plot, x, AutoScale)
	setX(gain.Plot, x, AutoScale)
	setY(prediction.Plot, y, false, failingSeries(series))
	if s.Next != nil {
		next := draw.LineStyle{Color: palette[2], Width: 1.1, Dashes: dashPattern}
		prediction.add(drop(next, *s.Next, math.Inf(1)))
		gain.add(drop(next, *s.Next, math.Inf(1)))
		prediction.explain(entry{label: "suggested next", line: &next})
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
	out := make([]Band, len(curve))
	for i, b := range curve {
		out[i] = Band{X: b.X, Mean: b.Mean, Lo: b.Mean, Hi: b.Mean}
	}
	return out
}
