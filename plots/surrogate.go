package plots

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/gradnoise"
	"knee/profile"
	"knee/profile/space"
)

// NewSurrogate draws what the guided search of a study predicts along a knob
// after some trials, see [bayesopt.Guided.Slice]. Goodput and cost depend on the
// statistical efficiency, which is fitted to the training curves, and 1 if they have
// no gradient statistics. It fails as the search does.
func NewSurrogate(study *data.Study, trials []data.Measurement, curves []data.CurvePoint, knob string) (*Panels, error) {
	return drawn(surrogateOf(study, trials, curves, knob))
}

func surrogateOf(study *data.Study, trials []data.Measurement, curves []data.CurvePoint, knob string) (surrogate, error) {
	candidates, err := space.Candidates(study)
	if err != nil {
		return surrogate{}, err
	}
	var efficiency func(float64) float64
	if scale, err := gradnoise.Fit(curves, study.Batch.Initial); err == nil {
		efficiency = func(batch float64) float64 { return scale.Efficiency(batch).Mean }
	}
	strategy, err := profile.NewStrategy(study, profile.Search{}, efficiency)
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
	o, _ := bayesopt.ParseObjective(study.Objective) // which loading has checked
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

// surrogate describes what a search predicts along one knob, everything else
// as in the best configuration so far, and what it would gain there.
type surrogate struct {
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
