package learn

import (
	"context"
	"math"

	"knee/data"
	"knee/fit"
)

// fit refits the speed of a job. The measurements of its old model are multiplied by the
// job's measured ÷ predicted step time, see drift. That factor may not hold for other
// configurations: half of the change is added to their standard error, in squares. The
// job's own measurements are used as they are, and the models of the rules are the
// cluster prior. Convergence and memory are those of the old model. If the result does
// not cover the latest measurement, the old model is of another job: only the own
// measurements are fitted, and the old model joins the prior.
func (m *Models) fit(ctx context.Context, before *fit.Model, own []data.Measurement) (*fit.Model, error) {
	others := m.lenders()
	if before == nil {
		return fit.FitContext(ctx, own, fit.Settings{Others: fit.SpeedOf(others)})
	}
	rows := without(scaled(before.AllMeasurements(), drift(before, own)), own)
	after, err := fit.FitContext(ctx, append(rows, own...), fit.Settings{Others: fit.SpeedOf(others), Screened: true})
	if err != nil {
		return nil, err
	}
	latest := own[len(own)-1]
	if p, err := after.Predict(latest.Config); err == nil && drifted(latest, p.StepTime) {
		if after, err = fit.FitContext(ctx, own, fit.Settings{Others: fit.SpeedOf(append(others, before))}); err != nil {
			return nil, err
		}
	}
	joined := *before
	joined.Model = after.Model
	return &joined, nil
}

// drifted reports whether a measurement lies outside a predicted interval by more
// than its own 90 % interval.
func drifted(row data.Measurement, predicted data.Estimate) bool {
	off := 1.645 * row.StandardError()
	if math.IsInf(off, 1) {
		off = 0
	}
	return row.StepTime-off > predicted.Hi || row.StepTime+off < predicted.Lo
}

// drift is the geometric mean of measured ÷ predicted step times, 1 if the model
// cannot predict any.
func drift(before *fit.Model, own []data.Measurement) float64 {
	sum, n := 0.0, 0.0
	for _, r := range own {
		if p, err := before.Predict(r.Config); err == nil {
			sum, n = sum+math.Log(r.StepTime/p.StepTime.Mean), n+1
		}
	}
	return math.Exp(sum / math.Max(1, n))
}

func scaled(rows []data.Measurement, by float64) []data.Measurement {
	for i := range rows {
		r := &rows[i]
		r.StepTimeSE = by * math.Hypot(r.StandardError(), r.StepTime*(1-1/by)/2)
		r.StepTime, r.SyncTime = by*r.StepTime, by*r.SyncTime
	}
	return rows
}

// lenders returns the models of the rules, which are of other jobs of the cluster.
func (m *Models) lenders() []*fit.Model {
	var out []*fit.Model
	for _, r := range m.Rules {
		if r.Model != "" {
			if known := m.model(r.Model); known != nil {
				out = append(out, known)
			}
		}
	}
	return out
}
