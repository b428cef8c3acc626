package learn

import (
	"context"
	"math"

	"knee/data"
	"knee/fit"
	"knee/fit/speed"
	"knee/operate/check"
)

// fit fits the speed of a job anew. What its model had measured is taken to be off
// by the factor by which the job is where it was measured itself. How far that
// holds for other configurations is not known: half of the change is the
// standard error of what was changed. What was measured of the job counts as it
// is, and other models of the queue lend what they show of the cluster.
// Convergence and memory stay those of the model before.
//
// If even that does not cover what was measured, the job is another than the
// model reports: its own measurements alone are fitted, and the model is one
// that lends.
func (m *Models) fit(ctx context.Context, before *fit.Model, own []data.Measurement) (*fit.Model, error) {
	others := m.lenders()
	if before == nil {
		return fit.FitContext(ctx, own, fit.Settings{Others: fit.SpeedOf(others)})
	}
	rows := without(scaled(measuredBy(before), drift(before, own)), own)
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
	return graft(before, after.Model), nil
}

// drifted reports whether a measurement lies outside a predicted interval by more
// than its own 90 % interval.
func drifted(row data.Measurement, predicted data.Estimate) bool {
	off := 1.645 * row.StandardError()
	if math.IsInf(off, 1) {
		off = 0
	}
	return check.Compare(row.StepTime+off, predicted).Refit && check.Compare(math.Max(0, row.StepTime-off), predicted).Refit
}

// drift is the geometric mean of measured over predicted step times, 1 if the
// model cannot predict what was measured.
func drift(before *fit.Model, own []data.Measurement) float64 {
	sum, n := 0.0, 0.0
	for _, r := range own {
		if p, err := before.Predict(r.Config); err == nil {
			sum, n = sum+math.Log(r.StepTime/p.StepTime.Mean), n+1
		}
	}
	return math.Exp(sum / math.Max(1, n))
}

// scaled returns measurements with their step times times a factor.
func scaled(rows []data.Measurement, by float64) []data.Measurement {
	for i := range rows {
		r := &rows[i]
		r.StepTimeSE = by * math.Hypot(r.StandardError(), r.StepTime*(1-1/by)/2)
		r.StepTime, r.SyncTime = by*r.StepTime, by*r.SyncTime
	}
	return rows
}

// graft returns the model with another speed.
func graft(before *fit.Model, speeds *speed.Model) *fit.Model {
	out := *before
	out.Model = speeds
	return &out
}

// lenders are the models of the rules, which other jobs of the cluster have.
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

// measuredBy returns the measurements that a model keeps.
func measuredBy(m *fit.Model) []data.Measurement {
	var out []data.Measurement
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			out = append(out, m.Measurements(gpu, mode)...)
		}
	}
	return out
}
