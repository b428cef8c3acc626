package learn

import (
	"context"

	"knee/allocate/check"
	"knee/data"
	"knee/fit"
	"knee/fit/speed"
)

// fit fits the speed of a job anew. What was measured of the job itself takes
// the place of what its model had measured of the same configurations; other
// models of the queue lend what they show of the cluster. Convergence and
// memory stay those of the model before.
//
// If the rest of the model contradicts what was measured, so that even the new
// model does not cover it, the job is another than the model tells of: then
// its own measurements alone are fitted, and the model is one that lends.
func (m *Models) fit(ctx context.Context, before *fit.Model, own []data.Measurement) (*fit.Model, error) {
	others := m.lenders()
	if before == nil {
		return fit.FitContext(ctx, own, fit.Settings{Others: fit.SpeedOf(others)})
	}
	rows := without(measuredBy(before), own)
	after, err := fit.FitContext(ctx, append(rows, own...), fit.Settings{Others: fit.SpeedOf(others)})
	if err != nil {
		return nil, err
	}
	latest := own[len(own)-1]
	if p, err := after.Predict(latest.Config); err == nil && check.Compare(latest.StepTime, p.StepTime).Refit {
		if after, err = fit.FitContext(ctx, own, fit.Settings{Others: fit.SpeedOf(append(others, before))}); err != nil {
			return nil, err
		}
	}
	return graft(before, after.Model), nil
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
