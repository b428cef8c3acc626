package convergence

import "math"

const (
	// mostRecorded is the most stretches of a record; more add little, as
	// neighbours hardly differ.
	mostRecorded = 128
	// mostLows is the most lows kept of a record.
	mostLows = 64
)

// stretches averages a curve, sorted by x, over at most so many stretches.
func stretches(points []Point, most int) []Point {
	out := make([]Point, min(len(points), most))
	for i := range out {
		part := points[i*len(points)/len(out) : (i+1)*len(points)/len(out)]
		for _, p := range part {
			out[i].X += p.X / float64(len(part))
			out[i].Loss += p.Loss / float64(len(part))
		}
	}
	return out
}

// scatter returns the standard deviation of single values around the line
// between stretches; 0 if every stretch is a single value.
func scatter(points []Point) float64 {
	if len(points) <= mostRecorded {
		return 0
	}
	// Differences of neighbours are noise with twice its variance.
	return typicalMove(losses(points)) * madToSD / math.Sqrt2
}

// newLows returns the running minima of a curve sorted by x, at most mostLows,
// the last included.
func newLows(points []Point) []Point {
	lows := points[:1:1]
	for _, p := range points {
		if p.Loss < lows[len(lows)-1].Loss {
			lows = append(lows, p)
		}
	}
	if len(lows) <= mostLows {
		return lows
	}
	thinned := make([]Point, mostLows)
	for i := range thinned {
		thinned[i] = lows[i*(len(lows)-1)/(mostLows-1)]
	}
	return thinned
}

// isotone returns the falling curve nearest to a record in least squares, one
// point per level: isotonic regression by pooling adjacent violators (Barlow et
// al., Statistical Inference under Order Restrictions, 1972, section 1.2). It
// has no smoothing width to choose.
func isotone(points []Point) []Point {
	var levels []Point
	var counts []float64
	for _, p := range points {
		n := 1.
		for k := len(levels) - 1; k >= 0 && levels[k].Loss <= p.Loss; k-- {
			m := counts[k]
			p.X, p.Loss = (levels[k].X*m+p.X*n)/(m+n), (levels[k].Loss*m+p.Loss*n)/(m+n)
			n += m
			levels, counts = levels[:k], counts[:k]
		}
		levels, counts = append(levels, p), append(counts, n)
	}
	return levels
}

// lows returns the running minima of the record, smoothed for [Smooth].
func (c *Curve) lows() []Point {
	if c.Reach == First {
		return c.Lows
	}
	return isotone(c.Recorded)
}

// lowest returns the loss of the last low.
func (c *Curve) lowest() float64 {
	lows := c.lows()
	return lows[len(lows)-1].Loss
}

func losses(points []Point) []float64 {
	ls := make([]float64, len(points))
	for i, p := range points {
		ls[i] = p.Loss
	}
	return ls
}
