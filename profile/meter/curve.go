package meter

import (
	"fmt"
	"math"

	"knee/data"
	"knee/profile/launch"
)

// mostPoints is half the maximum of curve points kept per trial.
const mostPoints = 100

// curve keeps at most 2 mostPoints means of as many observations each.
type curve struct {
	per  int // observations per point
	open int // observations in the last point
	sums []curvePoint
}

// curvePoint holds the step, loss, grad_sqr and grad_var of a point.
type curvePoint [4]mean

type mean struct{ sum, n float64 }

func (m *mean) add(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		m.sum += v
		m.n++
	}
}

func (m mean) value() float64 { return m.sum / m.n }

func (c *curve) add(o launch.Observation) {
	c.per = max(c.per, 1)
	if len(c.sums) == 0 || c.open == c.per {
		if len(c.sums) == 2*mostPoints {
			c.halve()
		}
		c.sums = append(c.sums, curvePoint{})
		c.open = 0
	}
	p := &c.sums[len(c.sums)-1]
	for i, v := range []float64{o.Step, o.Loss, o.GradSqr, o.GradVar} {
		p[i].add(v)
	}
	c.open++
}

func (c *curve) halve() {
	for i := range mostPoints {
		p, q := c.sums[2*i], c.sums[2*i+1]
		for k := range p {
			p[k].sum += q[k].sum
			p[k].n += q[k].n
		}
		c.sums[i] = p
	}
	c.sums, c.per = c.sums[:mostPoints], 2*c.per
}

func (c *curve) points(config data.Config, trial int) []data.CurvePoint {
	var out []data.CurvePoint
	for _, s := range c.sums {
		p := EmptyPoint(config.Job, trial)
		p.Step, p.Loss, p.GradSqr, p.GradVar = s[0].value(), s[1].value(), s[2].value(), s[3].value()
		if config.LocalBatch > 0 {
			p.GlobalBatch = config.GlobalBatch()
		}
		if !math.IsNaN(p.Step) && !(math.IsNaN(p.Loss) && math.IsNaN(p.GradSqr)) {
			out = append(out, p)
		}
	}
	return out
}

// EmptyPoint returns a point of the curve of a trial with all quantities NaN.
func EmptyPoint(job string, trial int) data.CurvePoint {
	nan := math.NaN()
	return data.CurvePoint{Job: job, Run: fmt.Sprintf("trial-%d", trial), Step: nan, Epoch: nan, Progress: nan,
		Loss: nan, Metric: nan, GlobalBatch: nan, GradSqr: nan, GradVar: nan}
}
