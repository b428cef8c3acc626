package convergence

import (
	"math"

	"knee/internal/quantile"
)

const (
	// mostRecorded is the number of stretches a record is averaged over: more
	// would tell no more, as neighbours hardly differ.
	mostRecorded = 128
	// mostLows is how many lows of a record are kept.
	mostLows = 64
)

// stretches averages a curve, in order of x, over at most mostRecorded
// stretches.
func stretches(xs, ls []float64) []Point {
	out := make([]Point, min(len(xs), mostRecorded))
	for i := range out {
		from, to := i*len(xs)/len(out), (i+1)*len(xs)/len(out)
		for j := from; j < to; j++ {
			out[i].X += xs[j] / float64(to-from)
			out[i].Loss += ls[j] / float64(to-from)
		}
	}
	return out
}

// scatter returns the standard deviation of single values around the line
// between the stretches they were averaged over, 0 where each is one of its own.
func scatter(xs, ls []float64) float64 {
	if len(xs) <= mostRecorded {
		return 0
	}
	// Neighbours differ by noise alone, with twice its variance.
	return typicalMove(ls) * madToSD / math.Sqrt2
}

// newLows returns where a curve, in order of x, first went below all before,
// at most mostLows points, the last low always among them.
func newLows(xs, ls []float64) []Point {
	var lows []Point
	low := math.Inf(1)
	for i, l := range ls {
		if l < low {
			low = l
			lows = append(lows, Point{xs[i], low})
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

// isotone returns the falling curve nearest to a record in least squares, a
// point for each of its levels: isotonic regression by pooling adjacent
// violators (Barlow et al., Statistical Inference under Order Restrictions,
// 1972, section 1.2). It needs no width of smoothing.
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

// lows returns where the record first got to each of its lows, in the given
// meaning.
func (c *Curve) lows(reach Reach) []Point {
	if reach == First {
		return c.Lows
	}
	return isotone(c.Recorded)
}

// lowest returns the last of the lows.
func (c *Curve) lowest(reach Reach) float64 {
	lows := c.lows(reach)
	return lows[len(lows)-1].Loss
}

func medianLoss(points []Point) float64 {
	ls := make([]float64, len(points))
	for i, p := range points {
		ls[i] = p.Loss
	}
	return quantile.Median(ls)
}
