package convergence

const (
	// mostRecorded is the most stretches of a record, whose neighbours hardly differ.
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
	return noise(points)
}

// newLows returns at most mostLows running minima of a sorted curve, the last included.
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

// isotone returns the stretches of a record over which the falling curve nearest
// to it is level, given the level of a stretch: with means the nearest in least
// squares, with medians in absolute deviation. It is isotonic regression by
// pooling adjacent violators (Barlow et al., Statistical Inference under Order
// Restrictions, 1972, section 1.2), which has no smoothing width to choose.
func isotone(points []Point, level func([]Point) float64) (stretches [][]Point) {
	for i := range points {
		from := i
		for k := len(stretches) - 1; k >= 0 && level(stretches[k]) <= level(points[from:i+1]); k-- {
			from -= len(stretches[k])
			stretches = stretches[:k]
		}
		stretches = append(stretches, points[from:i+1])
	}
	return stretches
}

// falling returns the falling curve nearest to a record, one point per level.
func falling(points []Point) (levels []Point) {
	mean := func(p []Point) Point { return stretches(p, 1)[0] }
	for _, level := range isotone(points, func(p []Point) float64 { return mean(p).Loss }) {
		levels = append(levels, mean(level))
	}
	return levels
}

// lows returns the running minima of the record, smoothed for [Smooth].
func (c *Curve) lows() []Point {
	if c.Reach == First {
		return c.Lows
	}
	return falling(c.Recorded)
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
