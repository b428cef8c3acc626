package plots

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg/draw"
)

// Scalability describes a scaling figure: a quantity against the number of
// workers, measured and predicted, with the knee of the curve.
type Scalability struct {
	Title    string // such as the job
	Subtitle string // such as GPU type and batch
	Quantity Quantity
	Series   []Series
	Ideal    bool   // draw linear scaling from the fewest workers of each series
	XLabel   string // empty: workers
	X        Scale
	Y        Scale // automatic: as X, so that ideal scaling stays a straight line
}

// NewScalability returns the figure, or an error that names the first field
// that cannot be drawn. X counts workers and must be positive, as must the
// quantity.
func NewScalability(s Scalability) (*Chart, error) {
	if err := s.Quantity.check("quantity"); err != nil {
		return nil, err
	}
	if s.Ideal && !s.Quantity.isRate() {
		return nil, bad("ideal", string(s.Quantity), "a rate, such as throughput, that grows with workers")
	}
	if err := checkSeries(s.Series, positive); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, orElse(s.XLabel, "workers"), s.Quantity.label())
	x, y := extents(s.Series)
	log := setX(c.Plot, x, s.X)
	if s.Y != AutoScale {
		log = s.Y == LogScale
	}
	setY(c.Plot, y, log, failingSeries(s.Series))
	if s.Ideal {
		c.addIdeal(s.Series, x.hi)
	}
	c.addAll(s.Series)
	if s.Ideal {
		c.legend = append(c.legend, entry{label: "ideal linear scaling", line: idealStyle(mutedColor)})
	}
	return c, nil
}

// idealStyle is the line of ideal scaling.
func idealStyle(col color.Color) *draw.LineStyle {
	return &draw.LineStyle{Color: col, Width: 1, Dashes: dotted()}
}

// addIdeal adds y = x · y₀/x₀ for each series, where x₀ is its fewest workers
// measured (else predicted) and y₀ the mean of what was measured there.
func (c *Chart) addIdeal(all []Series, to float64) {
	for i, s := range all {
		x0, y0, ok := reference(s)
		if !ok {
			continue
		}
		to := math.Max(to, c.Plot.X.Max)
		// Two ends are enough: the line is straight on linear and on
		// doubly logarithmic axes alike.
		l := line{xs: []float64{x0, to}, ys: []float64{y0, y0 * to / x0}, style: *idealStyle(seriesColor(i))}
		c.layers = append(c.layers, l)
	}
}

// reference returns the point that ideal scaling starts from.
func reference(s Series) (x, y float64, ok bool) {
	x = math.Inf(1)
	var n int
	for _, p := range s.Points {
		switch {
		case !p.ok() || p.X > x:
		case p.X < x:
			x, y, n = p.X, p.Y, 1
		default:
			y, n = y+p.Y, n+1
		}
	}
	if n > 0 {
		return x, y / float64(n), true
	}
	if len(s.Curve) > 0 {
		return s.Curve[0].X, s.Curve[0].Mean, true
	}
	return 0, 0, false
}

// addKnee marks the knee of a series, drops a line to the axis and labels it.
func (c *Chart) addKnee(i int, s Series) {
	if s.Knee == nil {
		return
	}
	col := seriesColor(i)
	k := s.Knee
	text := k.Note
	if text == "" {
		text = "knee: " + amount(k.X, "workers")
	}
	c.layers = append(c.layers,
		verticalLine{k.X, k.Y, draw.LineStyle{Color: col, Width: thinWidth, Dashes: dashed()}},
		marker{k.X, k.Y, draw.GlyphStyle{Color: col, Radius: markRadius, Shape: haloGlyph{}}})
	c.annotations = append(c.annotations, annotation{x: k.X, y: k.Y, text: text, color: col, bold: true})
}

// joinWords joins words as in "a, b or c".
func joinWords(words []string, with string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + with + " " + words[last]
}
