// Package form holds the parametric forms of the time of one optimizer step:
// knee's own (collective, ps, layout) and published ones.
package form

import (
	"math"
	"slices"

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
	// LogTimes returns ln of the step time and of the compute time of a micro-step, s.
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
	// Names returns the coordinates: logarithms, logits or powers, of order one.
	Names() []string
	// Bind sets the parameters.
	Bind(theta []float64) Curve
	// Gradient sets the derivatives of [Curve.LogTimes] by theta, in zeroed slices.
	Gradient(theta []float64) func(p *Point, step, compute []float64)
	// Starts returns the solver's starting points, as shifts of the prior mean by name.
	Starts() []map[string]float64
}

func param(name, unit string, value float64) Param {
	return Param{Name: name, Unit: unit, Value: data.Estimate{Mean: value}}
}

// stepTime is [StepTimer.StepTime] of a curve; s gives an unknown batch.
func stepTime(c Curve, cfg data.Config, s Scale) float64 {
	p := NewPoint(cfg, s)
	step, _ := c.LogTimes(&p)
	return math.Exp(step)
}

// differences is [Form.Gradient] by central differences.
func differences(f Form, theta []float64) func(p *Point, step, compute []float64) {
	const h = 1e-5 // truncation h² and rounding/h, both near 1e-10
	shifted := func(by float64) (all []Curve) {
		for j := range theta {
			x := slices.Clone(theta)
			x[j] += by
			all = append(all, f.Bind(x))
		}
		return all
	}
	up, down := shifted(h), shifted(-h)
	return func(p *Point, step, compute []float64) {
		for j := range theta {
			s1, c1 := up[j].LogTimes(p)
			s0, c0 := down[j].LogTimes(p)
			step[j], compute[j] = (s1-s0)/(2*h), (c1-c0)/(2*h)
		}
	}
}
