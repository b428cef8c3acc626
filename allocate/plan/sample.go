package plan

import "math"

// mostPredictions is up to how many shapes all are predicted: a second or two
// of work. Beyond it jobs are many, and all but a few of them get a size on the
// concave envelope of their speed, so that sizes which cannot be on it by more
// than bulge, relative to their speed, are left out.
const (
	mostPredictions = 20_000
	bulge           = 0.01
)

// point is a number of workers whose speed was predicted.
type point struct {
	size           int // position among the sizes
	workers, speed float64
}

// sample predicts shapes of a table, of each GPU type and mode at first those
// whose workers double, then those between two where the envelope may bulge.
func (x *table) sample(ask func(n int)) {
	for from := 0; from < len(x.shapes); {
		var sizes []int // where the shapes of a number of workers begin
		to := from
		for ; to < len(x.shapes) && x.shapes[to].GPUType == x.shapes[from].GPUType && x.shapes[to].Mode == x.shapes[from].Mode; to++ {
			if to == from || x.shapes[to].Workers != x.shapes[to-1].Workers {
				sizes = append(sizes, to)
			}
		}
		x.sampleSizes(append(sizes, to), ask)
		from = to
	}
}

// sampleSizes is sample for one GPU type and mode.
func (x *table) sampleSizes(sizes []int, ask func(n int)) {
	workers := func(size int) float64 { return float64(x.shapes[sizes[size]].Workers) }
	predict := func(size int) point { // with every number of parameter servers
		p := point{size: size, workers: workers(size)}
		for n := sizes[size]; n < sizes[size+1]; n++ {
			ask(n)
			p.speed = math.Max(p.speed, x.answers[n].Goodput.Mean)
		}
		return p
	}
	last := len(sizes) - 2
	points := []point{predict(0)}
	for size := 1; size <= last; size++ {
		if next := 2 * points[len(points)-1].workers; size == last || workers(size) <= next && workers(size+1) > next {
			points = append(points, predict(size))
		}
	}
	for n := 0; n+1 < len(points); {
		at, bulges := top(points, n)
		if !bulges {
			n++
			continue
		}
		best := points[n].size + 1
		for size := best; size < points[n+1].size; size++ {
			if math.Abs(workers(size)-at) < math.Abs(workers(best)-at) {
				best = size
			}
		}
		points = append(points[:n+1], append([]point{predict(best)}, points[n+1:]...)...)
	}
}

// top is where a concave curve through the points may lie highest above the
// line from point n to the next, which is where the lines of the steps on both
// sides meet, and whether that is higher by more than bulge.
func top(points []point, n int) (workers float64, bulges bool) {
	slope := func(a, b point) float64 { return (b.speed - a.speed) / (b.workers - a.workers) }
	a, b := points[n], points[n+1]
	line, before, after := slope(a, b), a.speed/a.workers, 0.0
	if n > 0 {
		before = slope(points[n-1], a)
	}
	if n+2 < len(points) {
		after = slope(b, points[n+2])
	}
	if b.size == a.size+1 || before <= line || after >= line {
		return 0, false
	}
	at := (b.speed - a.speed + before*a.workers - after*b.workers) / (before - after)
	return at, (before-line)*(at-a.workers) > bulge*math.Max(a.speed, b.speed)
}
