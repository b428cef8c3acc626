package plots

import (
	"cmp"
	"fmt"
	"math"
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
	if s.Quantity.label() == "" {
		return nil, bad("quantity", fmt.Sprintf("%q", string(s.Quantity)), "throughput, goodput or speed")
	}
	if err := checkSeries(s.Series, positive); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, cmp.Or(s.XLabel, "workers"), s.Quantity.label())
	x, y := extents(s.Series)
	log := setX(c.Plot, x, s.X)
	if s.Y != AutoScale {
		log = s.Y == LogScale
	}
	setY(c.Plot, y, log, failingSeries(s.Series))
	if !s.Ideal {
		c.addAll(s.Series)
		return c, nil
	}
	for i, one := range s.Series {
		if x0, y0, ok := reference(one); ok {
			// Two ends are enough: the line is straight on linear and on
			// doubly logarithmic axes alike.
			to := math.Max(x.hi, c.Plot.X.Max)
			c.add(polyline(guide(seriesColor(i), dotPattern...), []float64{x0, to}, []float64{y0, y0 * to / x0}))
		}
	}
	c.addAll(s.Series)
	ideal := guide(mutedColor, dotPattern...)
	c.explain(entry{label: "ideal linear scaling", line: &ideal})
	return c, nil
}

// reference returns the point that ideal scaling starts from: the fewest workers
// measured (else predicted), and the mean of what was measured there.
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
