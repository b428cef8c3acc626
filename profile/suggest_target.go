package profile

import (
	"math"
	"slices"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
	"knee/profile/space"
)

// SpeedModel returns the posterior of package fit as the model of a search
// whose target may not be measured; see [bayesopt.Target]. a is the
// architecture of the trained model, zero if not known; seed is that of the
// fit.
func SpeedModel(a data.Architecture, seed int64) bayesopt.JointModel {
	return func(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
		rows := slices.Clone(measured)
		for i := range rows {
			if rows[i].Architecture.Zero() {
				rows[i].Architecture = a
			}
		}
		model, err := fit.Fit(rows, fit.Settings{Seed: seed})
		if err != nil {
			return nil, nil, err
		}
		ln, sd, run, err := model.Draws(at)
		for i := range sd {
			sd[i] = math.Sqrt(sd[i] + run[i])
		}
		return ln, sd, err
	}
}

// targetOf returns objective.at and objective.measure, nil if neither is set.
func targetOf(s *data.Study) (*bayesopt.Target, error) {
	if len(s.Objective.At) == 0 && len(s.Objective.Measure) == 0 {
		return nil, nil
	}
	at, err := space.Condition(s, "at", s.Objective.At)
	if err != nil {
		return nil, err
	}
	measure, err := space.Condition(s, "measure", s.Objective.Measure)
	if err != nil {
		return nil, err
	}
	return &bayesopt.Target{At: at, Measure: measure, Model: SpeedModel(s.Model, s.Seed)}, nil
}
