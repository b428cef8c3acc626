package report

import (
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/plots"
)

// fewestPoints is how many recorded points make a curve worth drawing.
const fewestPoints = 4

// reportCurve adds the training curve of a job with its fit.
func (j *job) reportCurve(s *Section) {
	if len(plots.LossPoints(j.curve)) < fewestPoints {
		return
	}
	initial := 0. // steps as recorded
	if j.model != nil && slices.ContainsFunc(j.curve, func(p data.CurvePoint) bool { return p.GlobalBatch != j.curve[0].GlobalBatch }) {
		initial = j.model.Batch().Initial // steps of different batches are not alike
	}
	c, err := convergence.Fit(j.curve, initial, convergence.Settings{})
	if err != nil {
		s.Text = append(s.Text, "The training curve could not be fitted: "+err.Error())
		return
	}
	spec, _, err := plots.ConvergenceOf(c, j.curve, initial, nil)
	spec.Title = "How far is the training?"
	fig, err := draw(spec, err, plots.NewConvergence)
	s.figure(fig, err, "The loss of all runs, and its expected course if training continues.")
}
