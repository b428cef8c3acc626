package report

import (
	"fmt"
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
	points, initial, about := j.curve, 0., "The loss of all runs, and its expected course if training continues."
	if batches := batchesOf(points); len(batches) > 1 {
		by := "by step as recorded"
		if j.model != nil && j.model.NoiseScale() != nil {
			by, initial = "by statistically equal steps", j.model.NoiseScale().InitialBatch
			points, _ = j.model.NoiseScale().WithProgress(points, nil)
		}
		about = fmt.Sprintf("The loss of all runs, with batches of %s to %s samples, %s, and its expected course if training continues.",
			plots.Number(slices.Min(batches)), plots.Number(slices.Max(batches)), by)
	}
	c, err := convergence.Fit(points, initial, convergence.Settings{})
	if err != nil {
		s.Text = append(s.Text, "The training curve could not be fitted: "+err.Error())
		return
	}
	fig, _, err := plots.NewConvergence(c, points, initial, nil)
	s.chart("How far is the training?", fig, err, about)
}

// batchesOf returns the global batches of a curve, each once.
func batchesOf(curve []data.CurvePoint) []float64 {
	var all []float64
	for _, p := range curve {
		if p.GlobalBatch > 0 && !slices.Contains(all, p.GlobalBatch) {
			all = append(all, p.GlobalBatch)
		}
	}
	return all
}
