package plan

import (
	"math"
)

// mostPredictions is up to how many shapes all are predicted: a second or two
// of work. Beyond it jobs are many, and all but a few of them get a size on the
// concave envelope of their speed, so that sizes which cannot be on it by more
// than bulge, relative to their speed, are left out.
const (
	mostPredictions = 20_000
	bulge           = 0.01
)

// sample predicts shapes of a table, at first those whose workers double, then
// those between two where the envelope may bulge.
func (x *table) sample(ask func(n int)) {
	for from := 0; from < len(x.shapes); {
		to := from + 1
		for to < len(x.shapes) && x.shapes[to].GPUType == x.shapes[from].GPUType && x.shapes[to].Mode == x.shapes[from].Mode {
			to++
		}
		(&curve{x, x.sizes(from, to), ask}).sample()
		from = to
	}
}

// sizes are where a number of workers begins, and the end.
func (x *table) sizes(from, to int) []int {
	var at []int
	for n := from; n < to; n++ {
		if n == from || x.shapes[n].Workers != x.shapes[n-1].Workers {
			at = append(at, n)
		}
	}
	return append(at, to)
}

// curve is the speed of a job by workers, on one GPU type and in one mode.
type curve struct {
	*table
	at  []int // see sizes
	ask func(n int)
}

// point is a size that was predicted.
type point struct {
	size           int // index in curve.at
	workers, speed float64
}

// point predicts a size with every number of parameter servers.
func (c *curve) point(size int) point {
	p := point{size: size, workers: float64(c.shapes[c.at[size]].Workers)}
	for n := c.at[size]; n < c.at[size+1]; n++ {
		c.ask(n)
		p.speed = math.Max(p.speed, c.answers[n].Goodput.Mean)
	}
	return p
}

func (c *curve) sample() {
	last := len(c.at) - 2
	points := []point{c.point(0)}
	for size := 1; size <= last; size++ {
		now := points[len(points)-1].workers
		if size == last || c.workers(size) == c.running() || c.workers(size) <= 2*now && c.workers(size+1) > 2*now {
			points = append(points, c.point(size))
		}
	}
	for n := 0; n+1 < len(points); {
		middle, ok := c.bulge(points, n)
		if !ok {
			n++
			continue
		}
		points = append(points[:n+1], append([]point{c.point(middle)}, points[n+1:]...)...)
	}
}

func (c *curve) workers(size int) float64 { return float64(c.shapes[c.at[size]].Workers) }

// running is how many workers the job has now, 0 if none.
func (c *curve) running() float64 {
	if c.job.Current == nil {
		return 0
	}
	return float64(c.job.Current.Placement.Workers())
}

// bulge is a size between point n and the next at which a concave curve through
// the points may lie above the line between the two by more than bulge: at most
// where the lines of the neighbouring steps meet.
func (c *curve) bulge(points []point, n int) (int, bool) {
	a, b := points[n], points[n+1]
	if b.size == a.size+1 {
		return 0, false
	}
	slope := func(a, b point) float64 { return (b.speed - a.speed) / (b.workers - a.workers) }
	line, before, after := slope(a, b), a.speed/a.workers, 0.0
	if n > 0 {
		before = slope(points[n-1], a)
	}
	if n+2 < len(points) {
		after = slope(b, points[n+2])
	}
	after = math.Min(after, line)
	if before <= line || after >= line {
		return 0, false
	}
	x := (b.speed - a.speed + before*a.workers - after*b.workers) / (before - after)
	if above := (before - line) * (x - a.workers); above <= bulge*math.Max(a.speed, b.speed) {
		return 0, false
	}
	best := a.size + 1
	for size := best; size < b.size; size++ {
		if math.Abs(c.workers(size)-x) < math.Abs(c.workers(best)-x) {
			best = size
		}
	}
	return best, true
}
