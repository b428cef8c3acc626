package convergence

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Agreeing returns the points of the run with the lowest loss and of those whose
// courses agree with its own, and the names of the others: a curve of runs with
// several learning rates, say, is that of none. x and y are those of [Fit]; the
// initial batch is in samples, 0 if unknown.
func Agreeing(points []data.CurvePoint, initialBatch float64) (kept []data.CurvePoint, others []string) {
	pick := pickCurve(points, nil, initialBatch, 0)
	var runs []runCourse
	for _, run := range byRun(pick.usable(points)) {
		if len(run) > 1 {
			runs = append(runs, newRunCourse(run, pick.rising != nil))
		}
	}
	if len(runs) < 2 {
		return points, nil
	}
	best := slices.MinFunc(runs, func(a, b runCourse) int { return cmp.Compare(a.low, b.low) })
	for _, r := range runs {
		if best.differs(r) {
			others = append(others, r.name)
		}
	}
	return slices.DeleteFunc(slices.Clone(points), func(p data.CurvePoint) bool { return slices.Contains(others, p.Run) }), others
}

// runCourse is the course of a run.
type runCourse struct {
	name  string
	at    []Point // averages
	low   float64 // lowest of them
	fall  float64 // highest less lowest
	noise float64 // standard deviation of single values
}

func newRunCourse(run []usablePoint, rising bool) runCourse {
	const averages = 16
	points := make([]Point, len(run))
	for i, p := range run {
		points[i] = Point{p.x, p.y}
		if rising {
			points[i].Loss = -p.y
		}
	}
	c := runCourse{name: run[0].run, at: stretches(points, averages), noise: typicalMove(losses(points)) * madToSD / math.Sqrt2}
	c.low = slices.Min(losses(c.at))
	c.fall = slices.Max(losses(c.at)) - c.low
	return c
}

// differs reports whether a run is, in the later half of what both cover, mostly
// further away than three standard deviations of single values and a tenth of
// the fall.
func (c *runCourse) differs(other runCourse) bool {
	low, high := max(c.at[0].X, other.at[0].X), min(c.at[len(c.at)-1].X, other.at[len(other.at)-1].X)
	var apart []float64
	for _, p := range other.at {
		if p.X >= (low+high)/2 && p.X <= high && low < high {
			apart = append(apart, math.Abs(p.Loss-c.lossAt(p.X)))
		}
	}
	return quantile.Median(apart) > max(3*math.Hypot(c.noise, other.noise), c.fall/10) // NaN of none is not
}

// lossAt interpolates between the averages around x.
func (c *runCourse) lossAt(x float64) float64 {
	i := max(1, slices.IndexFunc(c.at, func(p Point) bool { return p.X >= x }))
	a, b := c.at[i-1], c.at[i]
	if a.X == b.X {
		return b.Loss
	}
	return a.Loss + (b.Loss-a.Loss)*(x-a.X)/(b.X-a.X)
}
