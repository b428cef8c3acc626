package plots

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
	"knee/predict"
)

// ResidualPoint is one measurement that was held out and predicted.
type ResidualPoint struct {
	X       float64 // predicted step time in seconds
	Error   float64 // predicted/measured − 1
	Outside bool    // the measurement lies outside its 90 % interval
}

// ResidualSeries is the residuals that share a colour, such as those of a mode.
type ResidualSeries struct {
	Name   string
	Points []ResidualPoint
}

// Residuals describes a figure of relative errors, with lines at ±10 %.
type Residuals struct {
	Title, Subtitle string
	Series          []ResidualSeries // drawn and listed in order
}

// ResidualsOf turns a validation into a figure with one series per mode, and
// the figures of merit in the subtitle. Modes stand in the order they are
// documented, so that they keep their colours from figure to figure. A
// validation of several families has one series per mode and family.
func ResidualsOf(v *predict.Validation, title string) Residuals {
	s := Residuals{Title: title, Subtitle: meritOf(v)}
	for _, mode := range data.Modes() {
		for _, family := range v.Families {
			series := ResidualSeries{Name: string(mode)}
			if len(v.Families) > 1 {
				series.Name += ", " + family
			}
			for _, r := range v.Residuals {
				if r.Measured.ModeOrDefault() == mode && r.Family == family {
					series.Points = append(series.Points, ResidualPoint{X: r.Predicted.Mean, Error: r.Error(), Outside: !r.Covered()})
				}
			}
			s.Series = append(s.Series, series)
		}
	}
	return s
}

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

// tolerance is the error that the lines mark: what Optimus (EuroSys'18,
// section 3.2) reports its speed models to stay within.
const tolerance = 10 // percent

// crowd is the number of points from which on they are drawn small and
// translucent, so that they do not hide one another.
const crowd = 300

// NewResiduals returns the figure, or an error that names the first field
// that cannot be drawn.
func NewResiduals(s Residuals) (*Chart, error) {
	x, y, n := newExtent(), newExtent(), 0
	y.add(-1.5*tolerance, 1.5*tolerance)
	if err := checkFinite("", s); err != nil {
		return nil, err
	}
	for i, series := range s.Series {
		if err := checkName(fmt.Sprintf("series[%d].name", i), series.Name); err != nil {
			return nil, err
		}
		for k, p := range series.Points {
			if err := positive(fmt.Sprintf("series[%d].points[%d].x", i, k), p.X); err != nil {
				return nil, err
			}
			x.add(p.X)
			y.add(100 * p.Error)
			n++
		}
	}
	if n == 0 {
		return nil, bad("series", "nothing", "at least one residual")
	}
	c := newChart(s.Title, s.Subtitle, "predicted step time (s)", "predicted / measured − 1 (%)")
	y.pad(0.06, 0.06).set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 8})
	if x.hi/x.lo < 4 {
		x.pad(0.06, 0.06).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	} else {
		x.padLog(0.05, 0.05).set(&c.Plot.X, plot.LogScale{}, decadeTicks{})
	}
	limits := guide(mutedColor, dashPattern...)
	c.add(level(guide(axisColor), 0), level(limits, tolerance), level(limits, -tolerance))
	outside := false
	for i, series := range s.Series {
		if len(series.Points) > 0 {
			outside = c.addResiduals(i, series, n) || outside
		}
	}
	if outside {
		ring := mark(mutedColor, draw.RingGlyph{})
		c.explain(entry{label: "outside its 90 % interval", glyph: &ring})
	}
	c.explain(entry{label: fmt.Sprintf("±%d %%", tolerance), line: &limits})
	return c, nil
}

// addResiduals adds the points of a series of n in all, hollow where the
// measurement lies outside its interval, and reports whether one does.
func (c *Chart) addResiduals(i int, s ResidualSeries, n int) bool {
	key := mark(seriesColor(i), seriesShape(i))
	inside := key
	if n > crowd {
		inside.Color = fade(seriesColor(i), 0.45)
		inside.Radius = vg.Length(math.Max(1.4, float64(markRadius)*math.Sqrt(float64(crowd)/float64(n))))
	}
	outside := inside
	outside.Shape = draw.RingGlyph{}
	var in, out []Point
	for _, r := range s.Points {
		p := Point{X: r.X, Y: 100 * r.Error}
		if r.Outside {
			out = append(out, p)
		} else {
			in = append(in, p)
		}
	}
	c.add(dots(inside, in), dots(outside, out))
	c.explain(entry{label: s.Name, glyph: &key})
	return len(out) > 0
}
