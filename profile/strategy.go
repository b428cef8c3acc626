package profile

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
	"knee/fit"
	"knee/fit/gradnoise"
	"knee/fit/memory"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/profile/space"
)

// Search holds search settings that are not in the study; zero is the default.
type Search struct {
	Strategy string // one of baseline.Strategies; empty for guided
	// Once excludes repeated measurements of a configuration.
	Once bool
	// TargetRegret is how much worse than the best is accepted, a fraction; 0 means 0.05.
	TargetRegret float64
	// Warm, if not nil, is the model of a similar job or cluster: one more mean function, weighted
	// by how well it predicts the trials.
	Warm *fit.Model
}

// NewStrategy returns the strategy of a study. efficiency is that of a global batch, (0, 1];
// nil: 1. Errors: an objective that is not supported (*data.InputError), and a Warm model
// that cannot predict some candidate.
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
		Work: s.Objective.Samples, Deadline: s.Objective.Deadline.Seconds(), Forms: SpeedForms(), Trials: s.Budget.Trials,
		Memory: memory.Feasibility{Architecture: s.Model}.Fits,
		// On real machines runs of one configuration differ by several per cent.
		Noisy: s.Launcher.Replay == nil}
	if slices.ContainsFunc(s.Space, func(k data.Knob) bool { return slices.Contains(data.LayoutNames(), k.Name) }) {
		o.Forms = LayoutForms(s.Model)
	}
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

// SpeedForms returns, for [bayesopt.Options.Forms], the family that fit would choose for each
// mode, in workers, servers, placement and batch.
func SpeedForms() []bayesopt.MeanForm { return []bayesopt.MeanForm{speedForm} }

// LayoutForms returns [SpeedForms] and the layout form with the parameters expected from other
// jobs. a is the architecture of the model, zero if not known.
func LayoutForms(a data.Architecture) []bayesopt.MeanForm {
	return []bayesopt.MeanForm{layoutPrior(a), speedForm}
}

// layoutPrior is the layout form as expected of a job without measurements.
func layoutPrior(a data.Architecture) bayesopt.MeanForm {
	return func([]data.Measurement) (func(data.Config) (float64, bool), error) {
		of := map[string]func(data.Config) form.LayoutParts{}
		return func(c data.Config) (float64, bool) {
			if c.Mode.UsesPS() || c.LocalBatch <= 0 {
				return 0, false
			}
			if of[c.GPUType] == nil {
				of[c.GPUType] = speed.ExpectedParts(c.GPUType, a)
			}
			return math.Log(of[c.GPUType](c).Step()), true
		}, nil
	}
}

// speedForm is the speed family of each mode, fitted to the trials so far.
func speedForm(measured []data.Measurement) (func(data.Config) (float64, bool), error) {
	if len(measured) < minFormTrials {
		return nil, nil
	}
	model, err := speed.Fit(context.Background(), measured, speed.Settings{FormOnly: true})
	if err != nil {
		return nil, err
	}
	return func(c data.Config) (float64, bool) { return logTimer(model, c) }, nil
}

// minFormTrials is the number of trials below which a fit adds nothing.
const minFormTrials = 3

// logTimer returns ln step time (s) by the fitted form. A GPU type without measurements gets
// that of the first measured one; the search learns the ratio.
func logTimer(model *speed.Model, c data.Config) (float64, bool) {
	if model.Timer(c.GPUType, c.ModeOrDefault()) == nil {
		for _, gpu := range model.GPUTypes() {
			if model.Timer(gpu, c.ModeOrDefault()) != nil {
				c.GPUType = gpu
				break
			}
		}
	}
	c, err := model.Resolve(c)
	if err != nil {
		return 0, false
	}
	t := model.Timer(c.GPUType, c.Mode).StepTime(c)
	return math.Log(t), t > 0 && !math.IsInf(t, 1)
}

// SpeedModel returns the posterior of package fit for [bayesopt.Target]. a is the architecture
// of the model, zero if not known; seed is that of the fit.
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

// Efficiency returns the statistical efficiency (0, 1] at a global batch (samples) by the
// trials so far; 1 without an estimate.
func (r *Runner) Efficiency(globalBatch float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noise == nil || r.noiseAt != len(r.results) { // there are more curves
		r.noiseAt = len(r.results)
		var curves []data.CurvePoint
		for _, id := range slices.Sorted(maps.Keys(r.results)) {
			curves = append(curves, r.results[id].Curve...)
		}
		r.noise = EfficiencyOf(curves, r.Study)
	}
	return r.noise(globalBatch)
}

// EfficiencyOf is the statistical efficiency (0, 1] at a global batch (samples) by training curves;
// 1 without gradient statistics.
func EfficiencyOf(curves []data.CurvePoint, s *data.Study) func(globalBatch float64) float64 {
	scale, err := gradnoise.Fit(curves, s.Batch.Initial)
	if err != nil {
		return func(float64) float64 { return 1 }
	}
	return func(m float64) float64 { return scale.Efficiency(m).Mean }
}
