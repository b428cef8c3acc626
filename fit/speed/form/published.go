package form

import (
	"math"
	"slices"

	"knee/data"
)

// published is a model of others for one set of measurements.
type published struct {
	parameters []parameter
	scale      Scale // typical batches, for an unknown batch
	// lnTimes is [Curve.LogTimes] for values of the parameters.
	lnTimes func(v []float64, p *Point) (step, compute float64)
	starts  []map[string]float64 // besides the prior mean
}

// parameter is a parameter of a published model.
type parameter struct {
	name, unit string
	value      func(x float64) float64 // in unit, at a coordinate x of order one
}

// positive is a multiple of the value that alone explains a typical step.
func positive(unit float64) func(x float64) float64 {
	return func(x float64) float64 { return unit * math.Exp(x) }
}

func (f *published) Names() (names []string) {
	for _, p := range f.parameters {
		names = append(names, p.name)
	}
	return names
}

func (f *published) Bind(x []float64) Curve {
	c := &publishedCurve{f, slices.Clone(x)}
	for i, p := range f.parameters {
		c.values[i] = p.value(x[i])
	}
	return c
}

func (f *published) Gradient(theta []float64) func(p *Point, step, compute []float64) {
	return differences(f, theta)
}

func (f *published) Starts() []map[string]float64 {
	return append([]map[string]float64{{}}, f.starts...)
}

// publishedCurve is a published model with its parameters set.
type publishedCurve struct {
	*published
	values []float64
}

func (c *publishedCurve) LogTimes(p *Point) (step, compute float64) { return c.lnTimes(c.values, p) }

func (c *publishedCurve) StepTime(cfg data.Config) float64 { return stepTime(c, cfg, c.scale) }

func (c *publishedCurve) Params() []Param {
	var ps []Param
	for i, p := range c.parameters {
		ps = append(ps, param(p.name, p.unit, c.values[i]))
	}
	return ps
}

// Published returns a published family with values of its parameters, in the
// order of its Params. global is the global batch, in samples, of
// configurations without a batch. It panics for families of knee's own.
func Published(family string, mode data.Mode, global float64, values ...float64) StepTimer {
	f := Families()[family].New(mode, nil, Scale{Batch: 1, Global: global, Fixed: true}, false).(*published)
	return &publishedCurve{f, values}
}
