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

// fields pairs the numbers of an entry with those of a point.
func (e *curveEntry) fields(p *data.CurvePoint) map[**float64]*float64 {
	return map[**float64]*float64{&e.Step: &p.Step, &e.Loss: &p.Loss, &e.GlobalBatch: &p.GlobalBatch, &e.GradSqr: &p.GradSqr, &e.GradVar: &p.GradVar}
}

func encodeCurve(curve []data.CurvePoint) []curveEntry {
	es := make([]curveEntry, len(curve))
	for i := range curve {
		for to, v := range es[i].fields(&curve[i]) {
			if !math.IsNaN(*v) {
				*to = v
			}
		}
	}
	return es
}

func decodeCurve(job string, trial int, es []curveEntry) []data.CurvePoint {
	curve := make([]data.CurvePoint, len(es))
	for i := range es {
		curve[i] = meter.EmptyPoint(job, trial)
		for from, v := range es[i].fields(&curve[i]) {
			if *from != nil {
				*v = **from
			}
		}
	}
	return curve
}
