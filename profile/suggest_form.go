package profile

import (
	"context"
	"math"
	"slices"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/speed"
	"knee/fit/speed/form"
)

// SpeedForms returns the parametric form of package fit for
// [bayesopt.Options.Forms]: for each mode the family that fit would choose, in
// workers, parameter servers, placement and batch. The search learns the effect
// of other knobs.
func SpeedForms() []bayesopt.MeanForm { return []bayesopt.MeanForm{speedForm} }

// LayoutForms returns [SpeedForms] and, for a space with layouts, the layout
// form with the parameters expected from other jobs, which needs no trial. a is
// the architecture of the model, zero if not known.
func LayoutForms(a data.Architecture) []bayesopt.MeanForm {
	return []bayesopt.MeanForm{layoutPrior(a), speedForm}
}

// formsOf returns the forms for the space of a study.
func formsOf(s *data.Study) []bayesopt.MeanForm {
	if slices.ContainsFunc(s.Space, func(k data.Knob) bool { return slices.Contains(data.LayoutNames(), k.Name) }) {
		return LayoutForms(s.Model)
	}
	return SpeedForms()
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

// speedForm is the speed family of each mode, the parametric part of the model,
// fitted to the trials so far.
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

// logTimer returns ln step time (s) by the fitted form. A GPU type without
// measurements gets the time of the first measured one; the search learns the
// ratio.
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
