// Package form holds the parametric forms of the time of one optimizer step:
// this project's own, collective and ps, and the published ones.
package form

import (
	"knee/data"
)

// StepTimer is a form with its parameters filled in: the seconds one
// optimizer step takes in a configuration. In [data.PSAsync] a step is one
// update of the whole job.
type StepTimer interface{ StepTime(data.Config) float64 }

// Param is one parameter of a fitted form.
type Param struct {
	Name  string
	Unit  string // "s", "s/sample", "" for a pure number, …
	Value data.Estimate
}

// Curve is a form with its parameters filled in, on prepared points.
type Curve interface {
	// LogTimes returns the natural logarithms of the step time and of the
	// compute time of one micro-step, both in seconds.
	LogTimes(p *Point) (step, compute float64)
}

// Fitted is a Curve of one GPU type, as a user sees it.
type Fitted interface {
	Curve
	StepTimer
	// Params returns the parameters in a fixed order, Value.Mean set.
	Params() []Param
}

// Form is a parametric form in the units of one set of measurements.
type Form interface {
	// Names of the coordinates of the solver, which are logarithms, logits or
	// powers: numbers of order one.
	Names() []string
	// Bind fills in parameters.
	Bind(theta []float64) Curve
	// Gradient fills the derivatives of [Curve.LogTimes] by theta.
	Gradient(theta []float64, p *Point, step, compute []float64)
	// Starts returns shifts of the prior mean that the solver starts from.
	Starts() []map[string]float64
}

func param(name, unit string, value float64) Param {
	return Param{Name: name, Unit: unit, Value: data.Estimate{Mean: value}}
}
