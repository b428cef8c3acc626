package plots

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// NewSearch draws the trials of a search in order, and the best so far, by
// throughput, or by steps per second if the batch of a trial is not known. It
// fails if no trial is ok, and as [MeasuredPoints] does.
func NewSearch(title string, trials []data.Measurement) (*Chart, error) {
	q := Throughput
	if slices.ContainsFunc(trials, func(m data.Measurement) bool { return m.StepTime > 0 && !(m.Throughput() > 0) }) {
		q = Speed
	}
	pts, err := MeasuredPoints(trials, q)
	y, failed := newExtent(), 0
	for i, p := range pts {
		pts[i] = Point{X: float64(i + 1), Y: p.Y, Status: p.Status}
		if p.ok() {
			y.add(p.Y)
		} else {
			failed = 1
		}
	}
	if err := cmp.Or(err, check("trials", pts, positive), checkDrawable("trials", pts, 0)); err != nil {
		return nil, err
	}
	c := newChart(cmp.Or(title, "Search of "+trials[0].Job), "", "trial", q.label())
	setY(c.Plot, y, false, failed)
	extent{0.5, float64(len(pts)) + 0.5}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 12, whole: true})
	stairs := solid(palette[1])
	c.explain(entry{label: "best so far", line: &stairs})
	xs, ys, best := bestSoFar(pts)
	c.add(polyline(stairs, xs, ys))
	c.addTrials(pts)
	at := pts[best]
	c.add(marker(mark(palette[1], haloGlyph{}), at.X, at.Y))
	text := fmt.Sprintf("best %s, trial %d: %s", Number(at.Y), best+1, trials[best].Config)
	c.annotations = append(c.annotations, annotation{at.X, at.Y, text, palette[1]})
	return c, nil
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

// mostTrials is how many trials are drawn: more would hide one another.
const mostTrials = 2000

// addTrials adds a dot for every trial with a value and, along the axis, a cross in
// the colour of its status for every other, thinned to mostTrials.
func (c *Chart) addTrials(pts []Point) {
	var ok []Point
	others := map[data.Status][]float64{}
	kept, some := sampled(pts, mostTrials)
	for _, p := range kept {
		if p.ok() {
			ok = append(ok, p)
		} else {
			others[p.Status] = append(others[p.Status], p.X)
		}
	}
	glyph := mark(palette[0], draw.CircleGlyph{})
	if some != "" {
		glyph.Color, glyph.Radius = fade(palette[0], 0.5), 1.7
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
