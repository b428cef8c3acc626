package profile

import (
	"fmt"
	"math"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
	"knee/fit"
	"knee/fit/memory"
	"knee/profile/space"
)

// Search holds search settings that are not in the study; zero is the default.
type Search struct {
	Strategy string // one of baseline.Strategies; empty for guided
	// Once excludes repeated measurements of a configuration.
	Once bool
	// TargetRegret is how much worse than the best the result may be, as a
	// fraction; 0 means 0.05.
	TargetRegret float64
	// Warm, if not nil, is the model of a similar job, or of this job on another
	// cluster: one more mean function, weighted by how well it predicts the
	// trials.
	Warm *fit.Model
}

// NewStrategy returns the strategy of a study. efficiency is the statistical
// efficiency (0, 1] of a global batch, nil for 1. Errors: an objective that the
// strategy does not support (*data.InputError), and a Warm model that cannot
// predict some candidate.
func NewStrategy(s *data.Study, how Search, efficiency func(globalBatch float64) float64) (bayesopt.Strategy, error) {
	o, err := searchOptions(s, efficiency)
	if err != nil {
		return nil, err
	}
	o.Once, o.TargetRegret = how.Once, how.TargetRegret
	if o.Target, err = targetOf(s); err != nil {
		return nil, err
	}
	if o.Target != nil && how.Strategy != "" && how.Strategy != baseline.Guided {
		return nil, &data.InputError{Source: data.Source{File: s.Source.File, Column: "objective.at"}, Found: "strategy " + how.Strategy, Want: baseline.Guided + ", the only strategy that plans for configurations outside measure"}
	}
	if how.Warm != nil {
		candidates, err := space.Candidates(s)
		if err != nil {
			return nil, err
		}
		for _, c := range candidates { // a mean function must cover them all
			if _, err := how.Warm.StepTime(c); err != nil {
				return nil, fmt.Errorf("start from the model of job %q: %s: %w", how.Warm.Job(), c, err)
			}
		}
		o.Forms = append(o.Forms, warmStart(how.Warm))
	}
	return baseline.NewStrategy(how.Strategy, o)
}

func searchOptions(s *data.Study, efficiency func(globalBatch float64) float64) (bayesopt.Options, error) {
	if s.Objective.Deadline > 0 && s.Objective.Samples == 0 {
		return bayesopt.Options{}, &data.InputError{Source: data.Source{File: s.Source.File, Column: "objective.deadline"},
			Found: s.Objective.Deadline.String() + " without samples", Want: "samples: the work to finish by then, in samples at the initial batch"}
	}
	o := bayesopt.Options{Objective: bayesopt.ObjectiveOf(s.Objective), Efficiency: efficiency, Seed: s.Seed, TrialSeconds: s.Trial.MaxSeconds,
		Work: s.Objective.Samples, Deadline: s.Objective.Deadline.Seconds(), Forms: formsOf(s), Trials: s.Budget.Trials,
		Memory: memory.Feasibility{Architecture: s.Model}.Fits,
		// On real machines runs of one configuration differ by several per cent, even
		// if the steps of each run agree.
		Noisy: s.Launcher.Replay == nil}
	if len(s.PricePerHour) > 0 {
		o.Price = func(c data.Config) float64 { return Price(s, c) }
	}
	return o, nil
}

// warmStart is a model fitted elsewhere, a prior mean without parameters.
func warmStart(model *fit.Model) bayesopt.MeanForm {
	return func([]data.Measurement) (func(data.Config) (float64, bool), error) {
		return func(c data.Config) (float64, bool) {
			t, err := model.StepTime(c)
			return math.Log(t), err == nil
		}, nil
	}
}
