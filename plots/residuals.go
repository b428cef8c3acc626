package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
	"knee/predict"
)

// meritOf puts the totals of a validation into words.
func meritOf(v *predict.Validation) string {
	method := map[predict.Method]string{predict.LeaveOneOut: "leave-one-out", predict.Forward: "forward", predict.HeldOut: "test set"}[v.Method]
	var parts []string
	for _, t := range v.Totals() {
		about := fmt.Sprintf("%s, %d predictions", cmp.Or(method, "cross-validated"), t.N)
		if len(v.Families) > 1 {
			about = t.Family
		}
		parts = append(parts, fmt.Sprintf("%s: mean error %.1f %%, median %.1f %%, %.0f %% inside their 90 %% interval", about, t.MAPE, t.Median, t.Coverage))
	}
	return strings.Join(parts, "; ")
}

// tolerance is the error that Optimus (EuroSys'18, section 3.2) reports to stay within.
const tolerance = 10 // percent

// More than crowd points are drawn small and translucent.
const crowd = 300

// NewResiduals draws the relative errors of a validation, a series for each mode and
// family, with lines at ±10 % and the totals as subtitle.
func NewResiduals(title string, v *predict.Validation) (*Chart, error) {
	if len(v.Residuals) == 0 {
		return nil, bad("residuals", "nothing", "at least one residual")
	}
	x, y := newExtent(), newExtent()
	y.add(-1.5*tolerance, 1.5*tolerance)
	for i, r := range v.Residuals {
		at := fmt.Sprintf("residuals[%d]", i)
		if err := cmp.Or(positive(at+".predicted", r.Predicted.Mean), finite(at+".error", r.Error())); err != nil {
			return nil, err
		}
		x.add(r.Predicted.Mean)
		y.add(100 * r.Error())
	}
	c := newChart(title, meritOf(v), "predicted step time (s)", "predicted / measured − 1 (%)")
	y.pad(0.06, 0.06).set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 8})
	if x.hi/x.lo < 4 {
		x.pad(0.06, 0.06).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	} else {
		x.padLog(0.05, 0.05).set(&c.Plot.X, plot.LogScale{}, decadeTicks{})
	}
	limits := guide(mutedColor, dashPattern...)
	c.add(level(guide(axisColor), 0), level(limits, tolerance), level(limits, -tolerance))
	series := 0
	for _, mode := range data.Modes() { // in this order, so that a mode has the same colour in every figure
		for _, family := range v.Families {
			c.addResiduals(series, v, mode, family)
			series++
		}
	}
	if slices.ContainsFunc(v.Residuals, func(r predict.Residual) bool { return !r.Covered() }) {
		c.explain(entry{label: "outside its 90 % interval", glyph: mark(mutedColor, draw.RingGlyph{})})
	}
	c.explain(entry{label: fmt.Sprintf("±%d %%", tolerance), line: limits})
	return c, nil
}

// addResiduals adds series i, those of a mode and family, hollow outside their interval.
func (c *Chart) addResiduals(i int, v *predict.Validation, mode data.Mode, family string) {
	covered := map[bool][]Point{}
	for _, r := range v.Residuals {
		if r.Measured.ModeOrDefault() == mode && r.Family == family {
			covered[r.Covered()] = append(covered[r.Covered()], Point{X: r.Predicted.Mean, Y: 100 * r.Error()})
		}
	}
	if len(covered) == 0 {
		return
	}
	key := mark(seriesColor(i), seriesShape(i))
	inside := key
	if n := len(v.Residuals); n > crowd {
		inside.Color = fade(seriesColor(i), 0.45)
		inside.Radius = vg.Length(math.Max(1.4, float64(markRadius)*math.Sqrt(float64(crowd)/float64(n))))
	}
	outside := inside
	outside.Shape = draw.RingGlyph{}
	c.add(dots(inside, covered[true]), dots(outside, covered[false]))
	label := string(mode)
	if len(v.Families) > 1 {
		label += ", " + family
	}
	c.explain(entry{label: label, glyph: key})
}
