package report

import (
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
	c, err := convergence.Fit(j.curve, 0, convergence.Settings{})
	if err != nil {
		s.Text = append(s.Text, "The training curve could not be fitted: "+err.Error())
		return
	}
	spec, _, err := plots.ConvergenceOf(c, j.curve, 0, nil)
	spec.Title = "How far is the training?"
	fig, err := draw(spec, err, plots.NewConvergence)
	s.figure(fig, err, "The loss as recorded, and its expected course if training continues.")
}
