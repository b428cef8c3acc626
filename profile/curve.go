package profile

import (
	"fmt"
	"math"

	"knee/data"
	"knee/profile/launch"
)

// maxCurvePoints bounds what is kept of the training curve of one trial.
const maxCurvePoints = 100

// curveEntry is a curve point as the journal spells it: JSON has no NaN.
type curveEntry struct {
	Step        *float64 `json:"step,omitempty"`
	Loss        *float64 `json:"loss,omitempty"`
	GlobalBatch *float64 `json:"global_batch,omitempty"`
	GradSqr     *float64 `json:"grad_sqr,omitempty"`
	GradVar     *float64 `json:"grad_var,omitempty"`
}

// curveOf thins the steps of a trial to a training curve. Points are spaced
// evenly and each is the mean of the steps since the one before, so that
// noise is averaged and not sampled.
func curveOf(c data.Config, trial int, steps []launch.Observation) []data.CurvePoint {
	per := (len(steps) + maxCurvePoints - 1) / maxCurvePoints
	var curve []data.CurvePoint
	for i := 0; i < len(steps); i += max(per, 1) {
		part := steps[i:min(i+max(per, 1), len(steps))]
		p := emptyPoint(c.Job, trial)
		p.Step = meanOf(part, func(o launch.Observation) float64 { return o.Step })
		p.Loss = meanOf(part, func(o launch.Observation) float64 { return o.Loss })
		p.GradSqr = meanOf(part, func(o launch.Observation) float64 { return o.GradSqr })
		p.GradVar = meanOf(part, func(o launch.Observation) float64 { return o.GradVar })
		if c.LocalBatch > 0 {
			p.GlobalBatch = c.GlobalBatch()
		}
		if !math.IsNaN(p.Step) && !(math.IsNaN(p.Loss) && math.IsNaN(p.GradSqr)) {
			curve = append(curve, p)
		}
	}
	return curve
}

// emptyPoint is a point of which nothing is known but its run.
func emptyPoint(job string, trial int) data.CurvePoint {
	nan := math.NaN()
	return data.CurvePoint{Job: job, Run: fmt.Sprintf("trial-%d", trial), Step: nan, Epoch: nan, Progress: nan,
		Loss: nan, Metric: nan, GlobalBatch: nan, GradSqr: nan, GradVar: nan}
}

// meanOf averages what was reported; NaN if nothing was.
func meanOf(steps []launch.Observation, of func(launch.Observation) float64) float64 {
	var sum float64
	n := 0
	for _, o := range steps {
		if v := of(o); !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

func encodeCurve(curve []data.CurvePoint) []curveEntry {
	opt := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	es := make([]curveEntry, len(curve))
	for i, p := range curve {
		es[i] = curveEntry{opt(p.Step), opt(p.Loss), opt(p.GlobalBatch), opt(p.GradSqr), opt(p.GradVar)}
	}
	return es
}

func decodeCurve(job string, trial int, es []curveEntry) []data.CurvePoint {
	get := func(to *float64, v *float64) {
		if v != nil {
			*to = *v
		}
	}
	curve := make([]data.CurvePoint, len(es))
	for i, e := range es {
		p := emptyPoint(job, trial)
		get(&p.Step, e.Step)
		get(&p.Loss, e.Loss)
		get(&p.GlobalBatch, e.GlobalBatch)
		get(&p.GradSqr, e.GradSqr)
		get(&p.GradVar, e.GradVar)
		curve[i] = p
	}
	return curve
}

// LongestRun returns the points of the run that got furthest in samples,
// the one that says most about convergence.
func LongestRun(points []data.CurvePoint) []data.CurvePoint {
	reach := map[string]float64{}
	longest := ""
	for _, p := range points {
		if x := p.Step * p.GlobalBatch; x > reach[p.Run] {
			reach[p.Run] = x
			if x > reach[longest] {
				longest = p.Run
			}
		}
	}
	var run []data.CurvePoint
	for _, p := range points {
		if p.Run == longest {
			run = append(run, p)
		}
	}
	return run
}
