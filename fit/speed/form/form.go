// Package form holds the parametric forms of the time of one optimizer step:
// knee's own (collective, ps, layout) and published ones.
package form

import (
	"knee/data"
)

// StepTimer is a form with its parameters set. StepTime returns the seconds of
// one optimizer step; in [data.PSAsync], of one update of the whole job.
type StepTimer interface{ StepTime(data.Config) float64 }

// Param is one parameter of a fitted form.
type Param struct {
	Name  string
	Unit  string // "s", "s/sample", "" if dimensionless, …
	Value data.Estimate
}

// Curve is a form with its parameters set, evaluated at points.
type Curve interface {
	// LogTimes returns the natural logarithms of the step time and of the
	// compute time of one micro-step, both in seconds.
	LogTimes(p *Point) (step, compute float64)
}

// Fitted is a Curve of one GPU type with parameters in the user's units.
type Fitted interface {
	Curve
	StepTimer
	// Params returns the parameters in a fixed order, Value.Mean set.
	Params() []Param
}

// Form is a parametric form in the units of one set of measurements.
type Form interface {
	// Names returns the names of the coordinates: logarithms, logits or powers,
	// of order one.
	Names() []string
	// Bind sets the parameters.
	Bind(theta []float64) Curve
	// Gradient fills the derivatives of [Curve.LogTimes] by theta.
	Gradient(theta []float64, p *Point, step, compute []float64)
	// Starts returns shifts of the prior mean, by name, as the solver's
	// starting points.
	Starts() []map[string]float64
}

func param(name, unit string, value float64) Param {
	return Param{Name: name, Unit: unit, Value: data.Estimate{Mean: value}}
}
