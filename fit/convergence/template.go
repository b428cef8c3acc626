package convergence

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Template is a finished run of the same job, at another batch size, that a
// running one is compared with. Its losses are in the terms of the run it
// serves, so that the two can be laid over each other.
type Template struct {
	Recorded []Point `json:"recorded"` // at most 128 stretches, in order of x
}

// minTemplate is the fewest points of a finished run worth comparing with.
const minTemplate = 4

// templateHits returns the log-normal of when the templates first hit a
// target, in steps: its median and the sd of its logarithm, the spread between
// runs of one job counting as one more run; and the chance that a run of the job
// hits it at all, by Laplace's rule of succession. A template that never does
// counts as hitting it just after it ended.
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

// newTemplates turns finished runs into templates in the terms of c: the same
// ordinate, turned falling the same way and divided by the same scale.
func (c *Curve) newTemplates(runs [][]data.CurvePoint, pick curvePicker) ([]Template, error) {
	var out []Template
	for i, run := range runs {
		var xs, ls []float64
		for _, p := range pick.usable(run) {
			xs, ls = append(xs, p.x), append(ls, c.toLoss(p.y))
		}
		if len(xs) < minTemplate || !(xs[len(xs)-1] > 0) {
			return nil, refuse(fmt.Sprintf("template %d", i+1), fmt.Sprintf("%d usable curve points", len(xs)),
				fmt.Sprintf("a finished run of at least %d points, with the same x and the same loss or metric as the run itself", minTemplate))
		}
		out = append(out, Template{stretches(xs, Hampel(ls))})
	}
	return out, nil
}
