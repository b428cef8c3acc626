package gradnoise

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/grouped"
)

// Scale is the gradient noise scale of a training run (McCandlish et al., 2018;
// Pollux, OSDI'21, section 3.1): the batch at which noise and signal of the
// gradient are equal.
type Scale struct {
	InitialBatch float64       `json:"initial_batch"` // samples; reference of efficiency
	Phi          data.Estimate `json:"phi"`           // samples
	Points       int           `json:"points"`        // curve points used
}

// beyond is how far outside the batches the noise scale is looked for, as a factor.
const beyond = 1e3

// Fit returns the noise scale in the later half of every run's points with gradient
// statistics, as it grows and most time is spent late. Of a point |E g|² is known without
// bias, but with noise that may exceed it (McCandlish et al., 2018, appendix A.1): the mean
// of 1/φ counts. Its 90 % interval has the noise, over the root of the points, and in full
// what persists from point to point, as of smoothed statistics or growth. It ends at a
// thousand times the initial batch, or at the mean beyond.
//
// It fails with a *data.InputError if initialBatch, in samples, is not above 0, without
// gradient statistics, and if the mean is not above 0.
func Fit(points []data.CurvePoint, initialBatch float64) (*Scale, error) {
	if !(initialBatch > 0) {
		return nil, data.Invalid("batch.initial", initialBatch, "the initial global batch in samples, which gradient statistics are relative to")
	}
	of := func(p data.CurvePoint) float64 { return p.GradSqr / p.GradVar / initialBatch }
	usable := slices.DeleteFunc(slices.Clone(points), func(p data.CurvePoint) bool {
		return !(p.GradVar > 0) || math.IsNaN(of(p)) || math.IsInf(of(p), 0)
	})
	runs, ofRun := grouped.By(usable, func(p data.CurvePoint) string { return p.Run })
	var inverse, before, after []float64 // 1/φ, and those of neighbours
	for _, run := range runs {
		from := len(inverse)
		for _, p := range ofRun[run][len(ofRun[run])/2:] {
			inverse = append(inverse, of(p))
		}
		before, after = append(before, inverse[from:len(inverse)-1]...), append(after, inverse[from+1:]...)
	}
	mean, variance := stat.PopMeanVariance(inverse, nil)
	if !(mean > 0) {
		return nil, data.Invalid("grad_sqr", "no curve points with grad_var > 0 and a mean of grad_sqr above 0", "some, or more samples for each if noise hides the gradient")
	}
	lasting := 0.
	if len(before) > 1 {
		lasting = min(max(stat.Covariance(before, after, nil), 0), variance)
	}
	half := distuv.UnitNormal.Quantile(.95) * math.Sqrt(lasting+(variance-lasting)/float64(len(inverse)))
	return &Scale{InitialBatch: initialBatch, Points: len(inverse), Phi: data.Estimate{
		Mean: 1 / mean, Lo: 1 / (mean + half), Hi: 1 / max(mean-half, min(mean, 1/(beyond*initialBatch))),
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
