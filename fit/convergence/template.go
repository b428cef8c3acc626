package convergence

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Template is a finished run at another batch size, with losses scaled as in [Curve].
type Template struct {
	Recorded []Point `json:"recorded"` // at most 128 stretches, in order of x
}

// minTemplate is the fewest points of a template.
const minTemplate = 4

// templateHits returns the log-normal of the step at which templates first hit a target
// (median, and sd of its logarithm, to which the learned sd between runs of a job adds one
// run), and the probability of a hit, by Laplace's rule of succession. One that never hits
// counts just after its end.
func (c *Curve) templateHits(target float64) (median, sd, chance float64) {
	var logs []float64
	met := 0.
	for _, t := range c.Templates {
		n := len(t.Recorded)
		x := t.Recorded[n-1].X * float64(n+1) / float64(n)
		if i := slices.IndexFunc(t.Recorded, func(p Point) bool { return p.Loss <= target }); i >= 0 {
			x = t.Recorded[i].X
			met++
		}
		logs = append(logs, math.Log(math.Max(x, math.SmallestNonzeroFloat64)))
	}
	mid := quantile.Median(logs)
	ss := math.Pow(c.beliefs().HitSD, 2)
	for _, l := range logs {
		ss += (l - mid) * (l - mid)
	}
	n := float64(len(logs))
	return math.Exp(mid), math.Sqrt(ss / n), (met + 1) / (n + 2)
}

// newTemplates turns finished runs into templates scaled as c.
func (c *Curve) newTemplates(runs [][]data.CurvePoint, pick curvePicker) ([]Template, error) {
	var out []Template
	for i, run := range runs {
		points := c.clean(pick.usable(run))
		if len(points) < minTemplate || !(points[len(points)-1].X > 0) {
			return nil, data.Invalid(fmt.Sprintf("template %d", i+1), fmt.Sprintf("%d usable curve points", len(points)),
				fmt.Sprintf("a finished run of at least %d points, with the same x and the same loss or metric as the run itself", minTemplate))
		}
		out = append(out, Template{stretches(points, mostRecorded)})
	}
	return out, nil
}
