package convergence

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Agreeing keeps the run with the lowest loss and the runs that agree with it. It returns
// their points, and the names of the other runs, which may have had another learning rate.
// The initial batch is in samples, 0 if unknown.
func Agreeing(points []data.CurvePoint, initialBatch float64) (kept []data.CurvePoint, others []string) {
	runs := slices.DeleteFunc(Runs(points, initialBatch), func(r Run) bool { return len(r.Course) < 2 })
	if len(runs) < 2 {
		return points, nil
	}
	best := slices.MinFunc(runs, func(a, b Run) int { return cmp.Compare(a.low(), b.low()) })
	for _, r := range runs {
		if best.differs(r) {
			others = append(others, r.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(points), func(p data.CurvePoint) bool { return slices.Contains(others, p.Run) }), others
}

// Run is the course of one run.
type Run struct {
	Name   string
	Course []Point // averages over at most 32 stretches, falling: −metric if it rises
	noise  float64 // standard deviation of single values
}

// Runs returns the courses of runs, over x and y as in [Fit].
func Runs(points []data.CurvePoint, initialBatch float64) (runs []Run) {
	const averages = 32
	c := Curve{Scale: 1}
	pick := pickCurve(points, nil, initialBatch, 0)
	if pick.rising != nil {
		c.Rising = &RisingMetric{}
	}
	for _, run := range byRun(pick.usable(points)) {
		values := c.points(run)
		runs = append(runs, Run{Name: run[0].run, Course: stretches(values, averages), noise: noise(values)})
	}
	return runs
}

func (c *Run) low() float64 { return slices.Min(losses(c.Course)) }

// Lows returns the running minima of the course.
func (c *Run) Lows() []Point { return newLows(c.Course) }

// differs reports whether a run is, in the later half of what both cover, mostly more than
// three standard deviations of single values and a tenth of the fall away.
func (c *Run) differs(other Run) bool {
	low, high := max(c.Course[0].X, other.Course[0].X), min(c.Course[len(c.Course)-1].X, other.Course[len(other.Course)-1].X)
	fall := slices.Max(losses(c.Course)) - c.low()
	var apart []float64
	for _, p := range other.Course {
		if p.X >= (low+high)/2 && p.X <= high && low < high {
			apart = append(apart, math.Abs(p.Loss-c.lossAt(p.X)))
		}
	}
	return quantile.Median(apart) > max(3*math.Hypot(c.noise, other.noise), fall/10) // NaN of none is not
}

// lossAt interpolates between the averages around x.
func (c *Run) lossAt(x float64) float64 {
	i := max(1, slices.IndexFunc(c.Course, func(p Point) bool { return p.X >= x }))
	a, b := c.Course[i-1], c.Course[i]
	if a.X == b.X {
		return b.Loss
	}
	return a.Loss + (b.Loss-a.Loss)*(x-a.X)/(b.X-a.X)
}
