package store

import (
	"math"

	"knee/data"
	"knee/profile/meter"
)

// curveEntry is a curve point in the journal. Unknown numbers are left out.
type curveEntry struct {
	Step        *float64 `json:"step,omitempty"`
	Loss        *float64 `json:"loss,omitempty"`
	GlobalBatch *float64 `json:"global_batch,omitempty"`
	GradSqr     *float64 `json:"grad_sqr,omitempty"`
	GradVar     *float64 `json:"grad_var,omitempty"`
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
		p := meter.EmptyPoint(job, trial)
		get(&p.Step, e.Step)
		get(&p.Loss, e.Loss)
		get(&p.GlobalBatch, e.GlobalBatch)
		get(&p.GradSqr, e.GradSqr)
		get(&p.GradVar, e.GradVar)
		curve[i] = p
	}
	return curve
}
