package plots

import (
	"fmt"
	"image/color"
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
	X       float64 // predicted step time in seconds, or workers
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
	Workers         bool             // X is a number of workers, not a predicted step time
}

// ResidualsOf turns a validation into a figure with one series per mode, and
// the figures of merit in the subtitle. Modes stand in the order they are
// documented, so that they keep their colours from figure to figure. A
// validation of several families has one series per mode and family.
func ResidualsOf(v *predict.Validation, title string, workers bool) Residuals {
	s := Residuals{Title: title, Workers: workers, Subtitle: meritOf(v)}
	for _, mode := range data.Modes() {
		for _, family := range v.Families {
			series := ResidualSeries{Name: string(mode)}
			if len(v.Families) > 1 {
				series.Name += ", " + family
			}
			for _, r := range v.Residuals {
				if r.Measured.ModeOrDefault() == mode && r.Family == family {
					series.Points = append(series.Points, residualPoint(r, workers))
				}
			}
			s.Series = append(s.Series, series)
		}
	}
	return s
}

func residualPoint(r predict.Residual, workers bool) ResidualPoint {
	p := ResidualPoint{X: r.Predicted.Mean, Error: r.Error(), Outside: !r.Covered()}
	if workers {
		p.X = float64(r.Measured.Workers)
	}
	return p
}

// meritOf puts the totals of a validation into words.
func meritOf(v *predict.Validation) string {
	var parts []string
	for _, t := range v.Totals() {
		part := fmt.Sprintf("mean error %.1f %%, median %.1f %%, %.0f %% inside their 90 %% interval", t.MAPE, t.Median, t.Coverage)
		if len(v.Families) > 1 {
			part = t.Family + ": " + part
		} else {
			part = fmt.Sprintf("%s, %d predictions: %s", methodLabel(v.Method), t.N, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// methodLabel says what was held out.
func methodLabel(m predict.Method) string {
	switch m {
	case predict.LeaveOneOut:
		return "leave-one-out"
	case predict.Forward:
		return "forward"
	case predict.HeldOut:
		return "test set"
	}
	return "cross-validated"
}

// tolerance is the error that the lines mark: what Optimus (EuroSys'18,
// section 3.2) reports its speed models to stay within.
const tolerance = 10 // percent

// crowd is the number of points from which on they are drawn small, so that
// they do not hide one another.
const crowd = 300

// NewResiduals returns the figure, or an error that names the first field
// that cannot be drawn.
func NewResiduals(s Residuals) (*Chart, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	label := "predicted step time (s)"
	if s.Workers {
		label = "workers"
	}
	c := newChart(s.Title, s.Subtitle, label, "predicted / measured − 1 (%)")
	s.setAxes(c.Plot)
	limits := draw.LineStyle{Color: mutedColor, Width: 1, Dashes: dashed()}
	c.layers = append(c.layers, level{0, draw.LineStyle{Color: axisColor, Width: 1}}, level{tolerance, limits}, level{-tolerance, limits})
	outside := false
	for i := range s.Series {
		outside = c.addResiduals(s, i) || outside
	}
	if outside {
		c.legend = append(c.legend, entry{label: "outside its 90 % interval", glyph: &draw.GlyphStyle{Color: mutedColor, Radius: markRadius, Shape: draw.RingGlyph{}}})
	}
	c.legend = append(c.legend, entry{label: fmt.Sprintf("±%d %%", tolerance), line: &limits})
	return c, nil
}

func (s Residuals) check() error {
	any := false
	for i, series := range s.Series {
		at := fmt.Sprintf("series[%d]", i)
		if err := checkName(at+".name", series.Name); err != nil {
			return err
		}
		for j, p := range series.Points {
			any = true
			at := fmt.Sprintf("%s.points[%d]", at, j)
			if err := positive(at+".x", p.X); err != nil {
				return err
			}
			if err := finite(at+".error", p.Error); err != nil {
				return err
			}
		}
	}
	if !any {
		return bad("series", "nothing", "at least one residual")
	}
	return nil
}

// setAxes makes room for every point and for the lines.
func (s Residuals) setAxes(p *plot.Plot) {
	x, y := newExtent(), newExtent()
	y.add(-1.5*tolerance, 1.5*tolerance)
	for _, series := range s.Series {
		for _, r := range series.Points {
			x.add(r.X)
			y.add(100 * r.Error)
		}
	}
	y.pad(0.06, 0.06).set(&p.Y, plot.LinearScale{}, linearTicks{want: 8})
	switch {
	case s.Workers:
		setX(p, x, AutoScale)
	case x.hi/x.lo < 4:
		x.pad(0.06, 0.06).set(&p.X, plot.LinearScale{}, linearTicks{want: 8})
	default:
		x.padLog(0.05, 0.05).set(&p.X, plot.LogScale{}, decadeTicks{})
	}
}

// addResiduals adds the points of a series, hollow where the measurement lies
// outside its interval, and reports whether one does.
func (c *Chart) addResiduals(s Residuals, i int) bool {
	var n int
	for _, series := range s.Series {
		n += len(series.Points)
	}
	radius := markRadius
	var col color.Color = seriesColor(i)
	if n > crowd {
		// Translucent, so that the eye sees where most of them lie.
		col = fade(seriesColor(i), 0.45)
		radius = vg.Length(math.Max(1.4, float64(markRadius)*math.Sqrt(float64(crowd)/float64(n))))
	}
	inside := dots{glyph: draw.GlyphStyle{Color: col, Radius: radius, Shape: seriesShape(i)}}
	outside := dots{glyph: draw.GlyphStyle{Color: col, Radius: radius, Shape: draw.RingGlyph{}}}
	for _, r := range s.Series[i].Points {
		to := &inside
		if r.Outside {
			to = &outside
		}
		to.pts = append(to.pts, Point{X: r.X, Y: 100 * r.Error})
	}
	c.layers = append(c.layers, inside, outside)
	if len(s.Series[i].Points) > 0 {
		sample := draw.GlyphStyle{Color: seriesColor(i), Radius: markRadius, Shape: seriesShape(i)}
		c.legend = append(c.legend, entry{label: s.Series[i].Name, glyph: &sample})
	}
	return len(outside.pts) > 0
}
