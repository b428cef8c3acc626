package gradnoise

import (
	"errors"
	"math"
	"slices"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/quantile"
)

// Scale is the gradient noise scale of a training run (McCandlish et al., 2018;
// Pollux, OSDI'21, section 3.1): the batch at which noise and signal of the
// gradient are equal.
type Scale struct {
	InitialBatch float64       `json:"initial_batch"` // samples; reference of efficiency
	Phi          data.Estimate `json:"phi"`           // samples
	Points       int           `json:"points"`        // curve points used
}

// Fit returns the median noise scale of the later half of every run's points with gradient
// statistics, as it grows and most time is spent late, with their 5 % and 95 % quantiles.
// It fails with a *data.InputError if initialBatch, in samples, is not above 0 or no point
// has gradient statistics.
func Fit(points []data.CurvePoint, initialBatch float64) (*Scale, error) {
	if !(initialBatch > 0) {
		return nil, data.Invalid("batch.initial", initialBatch, "the initial global batch in samples, which gradient statistics are relative to")
	}
	usable := slices.DeleteFunc(slices.Clone(points), func(p data.CurvePoint) bool {
		return !(p.GradSqr > 0 && p.GradVar >= 0) || math.IsInf(p.GradSqr+p.GradVar, 1)
	})
	runs, of := grouped.By(usable, func(p data.CurvePoint) string { return p.Run })
	var phis []float64
	for _, run := range runs {
		for _, p := range of[run][len(of[run])/2:] {
			phis = append(phis, initialBatch*p.GradVar/p.GradSqr)
		}
	}
	if len(phis) == 0 {
		return nil, data.Invalid("grad_sqr", "no curve point with grad_sqr > 0 and grad_var", "at least one")
	}
	slices.Sort(phis)
	return &Scale{InitialBatch: initialBatch, Points: len(phis), Phi: data.Estimate{
		Mean: quantile.Sorted(phis, .5), Lo: quantile.Sorted(phis, .05), Hi: quantile.Sorted(phis, .95),
	}}, nil
}

// From returns the noise scale with another initial batch in samples; n itself if 0.
func (n *Scale) From(initialBatch float64) *Scale {
	if !(initialBatch > 0) {
		return n
	}
	return &Scale{InitialBatch: initialBatch, Phi: n.Phi, Points: n.Points}
}

// Efficiency returns the statistical efficiency at a global batch of M samples,
// the progress per sample relative to the initial batch M0:
//
//	(φ + M0)/(φ + M)
//
// Below the initial batch it is 1: the statistics say nothing about smaller
// batches with the same schedule.
func (n *Scale) Efficiency(globalBatch float64) data.Estimate {
	if globalBatch <= n.InitialBatch || !(n.InitialBatch > 0) {
		return data.Estimate{Mean: 1, Lo: 1, Hi: 1}
	}
	at := func(phi float64) float64 { return (phi + n.InitialBatch) / (phi + globalBatch) }
	return data.Estimate{Mean: at(n.Phi.Mean), Lo: at(n.Phi.Lo), Hi: at(n.Phi.Hi)}
}

// WithProgress returns the points of a curve and of finished runs with Progress,
// Step·E(M)·M/M0, so that time to a loss and goodput count the same. They are
// returned as they are if one has Progress already or lacks Step or GlobalBatch.
func (n *Scale) WithProgress(points []data.CurvePoint, finished [][]data.CurvePoint) ([]data.CurvePoint, [][]data.CurvePoint) {
	var all [][]data.CurvePoint
	for _, run := range append([][]data.CurvePoint{points}, finished...) {
		run = slices.Clone(run)
		for i := range run {
			p := &run[i]
			if !math.IsNaN(p.Progress) || !(p.Step >= 0) || !(p.GlobalBatch > 0) {
				return points, finished
			}
			p.Progress = p.Step * n.Efficiency(p.GlobalBatch).Mean * p.GlobalBatch / n.InitialBatch
		}
		all = append(all, run)
	}
	return all[0], all[1:]
}

// Check returns an error if the noise scale of a file is invalid.
func (n *Scale) Check() error {
	if !(n.InitialBatch > 0) || !(n.Phi.Mean >= 0) {
		return errors.New("want a noise scale of at least 0 and a positive initial batch")
	}
	return nil
}
