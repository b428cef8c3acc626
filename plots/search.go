package plots

import (
	"cmp"
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
	Objective       string // axis label with unit, such as "throughput (samples/s)"; more is better
	Trials          []SearchTrial
}

// SearchOf is the progress of a search by throughput, or by steps per second
// where a batch is not known.
func SearchOf(ms []data.Measurement, title string) Search {
	s := Search{Title: title, Objective: "throughput (samples/s)"}
	value := data.Measurement.Throughput
	for _, m := range ms {
		if m.Status == data.OK && !(m.Throughput() > 0) {
			s.Objective, value = "speed (steps/s)", func(m data.Measurement) float64 { return 1 / m.StepTime }
		}
		s.Title = cmp.Or(title, "Search of "+m.Job)
	}
	for i, m := range ms {
		s.Trials = append(s.Trials, SearchTrial{Number: i + 1, Value: value(m), Status: m.Status, Label: m.Config.String()})
	}
	return s
}

// NewSearch returns the figure, or an error that names the first field that
// cannot be drawn.
func NewSearch(s Search) (*Chart, error) {
	pts, err := s.points()
	if err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, "trial", s.Objective)
	y, failed := newExtent(), 0
	for _, p := range pts {
		if p.ok() {
			y.add(p.Y)
		} else {
			failed = 1
		}
	}
	setY(c.Plot, y, false, failed)
	extent{math.Min(1, pts[0].X) - 0.5, pts[len(pts)-1].X + 0.5}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 12, whole: true})
	stairs := solid(palette[1])
	c.explain(entry{label: "best so far", line: &stairs})
	xs, ys, best := bestSoFar(pts)
	c.add(polyline(stairs, xs, ys))
	c.addTrials(pts)
	at := pts[best]
	c.add(marker(mark(palette[1], haloGlyph{}), at.X, at.Y))
	text := fmt.Sprintf("best %s, trial %d", number(at.Y), s.Trials[best].Number)
	if label := s.Trials[best].Label; label != "" {
		text += ": " + label
	}
	c.annotations = append(c.annotations, annotation{at.X, at.Y, text, palette[1]})
	return c, nil
}

// points checks the trials and returns them, X the number.
func (s Search) points() ([]Point, error) {
	if err := checkName("objective", s.Objective); err != nil {
		return nil, err
	}
	pts := make([]Point, len(s.Trials))
	for i, t := range s.Trials {
		at := fmt.Sprintf("trials[%d]", i)
		switch {
		case t.Number < 1:
			return nil, bad(at+".number", fmt.Sprint(t.Number), "a trial number ≥ 1")
		case i > 0 && t.Number <= s.Trials[i-1].Number:
			return nil, bad(at+".number", fmt.Sprint(t.Number), fmt.Sprintf("more than %d, the trial before it", s.Trials[i-1].Number))
		}
		if pts[i] = (Point{X: float64(t.Number), Y: t.Value, Status: t.Status}); pts[i].ok() {
			if err := finite(at+".value", t.Value); err != nil {
				return nil, err
			}
		}
	}
	return pts, checkDrawable("trials", pts, 0)
}

// bestSoFar returns the staircase of the best value so far, and which point is
// the best of all.
func bestSoFar(pts []Point) (xs, ys []float64, best int) {
	best = -1
	step := func(x, y float64) { xs, ys = append(xs, x), append(ys, y) }
	for i, p := range pts {
		switch {
		case !p.ok() || best >= 0 && p.Y <= pts[best].Y:
			continue
		case best >= 0:
			step(p.X, pts[best].Y)
		}
		best = i
		step(p.X, p.Y)
	}
	step(pts[len(pts)-1].X, pts[best].Y)
	return xs, ys, best
}

// mostTrials is how many trials are drawn: more would hide one another and swell
// the file.
const mostTrials = 2000

// addTrials adds a dot for every trial with a value and, along the axis, a
// cross in the colour of its status for every other; of more than mostTrials
// every so many-th, which the legend says.
func (c *Chart) addTrials(pts []Point) {
	var ok []Point
	others := map[data.Status][]float64{}
	every := (len(pts) + mostTrials - 1) / mostTrials
	for i := 0; i < len(pts); i += every {
		if p := pts[i]; p.ok() {
			ok = append(ok, p)
		} else {
			others[p.Status] = append(others[p.Status], p.X)
		}
	}
	glyph, some := mark(palette[0], draw.CircleGlyph{}), ""
	if every > 1 {
		glyph.Color, glyph.Radius = fade(palette[0], 0.5), 1.7
		some = fmt.Sprintf(", 1 of %d drawn", every)
	}
	c.add(dots(glyph, ok))
	c.explain(entry{label: "trial" + some, glyph: &glyph})
	for i, status := range data.Statuses() {
		if xs := others[status]; len(xs) > 0 {
			cross := mark(statusColor(i), crossGlyph{})
			c.add(rug(cross, xs, 0))
			c.explain(entry{label: statusLabel(status) + some, glyph: &cross})
		}
	}
}
