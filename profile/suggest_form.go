package profile

import (
	"math"
	"slices"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
	"knee/fit/speed"
)

// SpeedForms returns the parametric forms of package fit for what a search
// chooses from, for [bayesopt.Options.Forms]: the family that fit would choose
// for each mode, with workers, parameter servers, placement and batch. What
// else is varied is left to the search to learn.
func SpeedForms() []bayesopt.MeanForm { return []bayesopt.MeanForm{speedForm{}} }

// LayoutForms are [SpeedForms] for a space with layouts: there the physics
// alone, with what other jobs have shown, is a form before any trial. The
// architecture is that of the model, zero if it is not known.
func LayoutForms(a data.Architecture) []bayesopt.MeanForm {
	return []bayesopt.MeanForm{layoutPrior{a}, speedForm{}}
}

// formsOf returns the forms for the space of a study.
func formsOf(s *data.Study) []bayesopt.MeanForm {
	for _, k := range s.Space {
		if slices.Contains(data.LayoutNames(), k.Name) {
			return LayoutForms(s.Model)
		}
	}
	return SpeedForms()
}

// layoutPrior is the form of layouts as it is expected of a job never measured.
type layoutPrior struct{ architecture data.Architecture }

// Fit implements [bayesopt.MeanForm]. Nothing is estimated.
func (f layoutPrior) Fit([]data.Measurement) (func(data.Config) (float64, bool), int, error) {
	of := map[string]func(data.Config) float64{}
	return func(c data.Config) (float64, bool) {
		if c.Mode.UsesPS() || c.LocalBatch <= 0 {
			return 0, false
		}
		if of[c.GPUType] == nil {
			of[c.GPUType] = speed.ExpectedLayout(c.GPUType, f.architecture)
		}
		return of[c.GPUType](c), true
	}, 0, nil
}

// speedForm is the speed family of each mode, fitted to the trials so far.
type speedForm struct{}

// Fit implements [bayesopt.MeanForm]. The form is the parametric part of the
// model alone: what it leaves over is for the search to learn, once.
func (speedForm) Fit(measured []data.Measurement) (func(data.Config) (float64, bool), int, error) {
	if len(measured) < minFormTrials {
		return nil, 0, nil
	}
	model, err := fit.Fit(measured, fit.Settings{})
	if err != nil {
		return nil, 0, err
	}
	return func(c data.Config) (float64, bool) { return logTimer(model, c) }, formParameters(model), nil
}

// minFormTrials is the number of trials below which a form says nothing that
// its prior does not.
const minFormTrials = 3

// formParameters counts what a handful of trials estimates of a form: its
// level, and how time changes with each of batch, workers, nodes and parameter
// servers that they vary. The exponents that shape these are kept by their
// priors, so that they cost nothing; charging for all ten parameters of
// collective delays by three trials when its evidence counts.
func formParameters(model *fit.Model) int {
	n := 0
	for _, gpu := range model.GPUTypes() {
		for _, mode := range model.Modes(gpu) {
			rows := model.Measurements(gpu, mode)
			n++
			for _, value := range []func(data.Config) float64{
				func(c data.Config) float64 { return c.LocalBatch },
				func(c data.Config) float64 { return float64(c.Workers) },
				func(c data.Config) float64 { return float64(c.NodeCount()) },
				func(c data.Config) float64 { return float64(c.PS) },
			} {
				if slices.ContainsFunc(rows, func(m data.Measurement) bool { return value(m.Config) != value(rows[0].Config) }) {
					n++
				}
			}
		}
	}
	return n
}

// logTimer returns ln step time (s) by the fitted form. A GPU type that was
// not measured yet takes as long as the first that was: how much faster it is
// is for the search to learn from what sets the types apart.
func logTimer(model *fit.Model, c data.Config) (float64, bool) {
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
