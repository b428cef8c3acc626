package form

import (
	"math"

	"knee/data"
)

// Feature is a coordinate of a point that the step time grows with as a power.
type Feature struct {
	Name   string  // of its slope
	Center float64 // where the factor is one
	At     func(p *Point) float64
}

// sloped is a form times exp(Σ slope·(feature − center)): a power law in the
// study's own knobs on top of the physical form.
type sloped struct {
	base     Form
	n        int // parameters of base
	features []Feature
}

// NewSloped returns base with slopes.
func NewSloped(base Form, features []Feature) Form {
	return &sloped{base, len(base.Names()), features}
}

// Names implements [Form].
func (f *sloped) Names() []string {
	names := f.base.Names()
	for _, g := range f.features {
		names = append(names, g.Name)
	}
	return names
}

// Starts implements [Form].
func (f *sloped) Starts() []map[string]float64 { return f.base.Starts() }

// Bind implements [Form].
func (f *sloped) Bind(x []float64) Curve {
	c := &slopedCurve{Fitted: f.base.Bind(x[:f.n]).(Fitted), slopes: x[f.n:], form: f}
	c.parts, _ = c.Fitted.(Separable)
	return c
}

// Gradient implements [Form].
func (f *sloped) Gradient(x []float64, p *Point, step, compute []float64) {
	f.base.Gradient(x[:f.n], p, step[:f.n], compute[:f.n])
	for i, g := range f.features {
		step[f.n+i] = g.At(p) - g.Center
		compute[f.n+i] = step[f.n+i]
	}
}

// slopedCurve is a sloped form with its parameters filled in.
type slopedCurve struct {
	Fitted
	parts  Separable // the same curve, nil if it has no parts
	slopes []float64
	form   *sloped
}

// StepTime implements [StepTimer] for a configuration whose batch is known
// and that sets none of the study's own knobs.
func (c *slopedCurve) StepTime(cfg data.Config) float64 {
	p := NewPoint(cfg, Scale{Batch: 1, Global: 1})
	step, _ := c.LogTimes(&p)
	return math.Exp(step)
}

func (c *slopedCurve) factor(p *Point) (ln float64) {
	for i, g := range c.form.features {
		ln += c.slopes[i] * (g.At(p) - g.Center)
	}
	return ln
}

// factors returns what the slopes are multiplied with.
func (f *sloped) factors(p *Point) []float64 {
	x := make([]float64, len(f.features))
	for i, g := range f.features {
		x[i] = g.At(p) - g.Center
	}
	return x
}

// LogTimes implements [Curve].
func (c *slopedCurve) LogTimes(p *Point) (step, compute float64) {
	step, compute = c.Fitted.LogTimes(p)
	ln := c.factor(p)
	return step + ln, compute + ln
}

// Params implements [Curve].
func (c *slopedCurve) Params() []Param {
	ps := c.Fitted.Params()
	for i, g := range c.form.features {
		ps = append(ps, param(g.Name, "", c.slopes[i]))
	}
	return ps
}

// Separable is a curve whose step time joins a part that depends on the batch
// and the width of the placement and one that depends on the placement alone,
// by their powers: two exponentials less per draw where many predictions share
// both parts.
type Separable interface {
	LnCompute(p *Point) float64
	ComputePower(lnCompute float64) float64
	SyncPower(p *Point) float64
	Join(p *Point, lnCompute, compute, sync float64) float64
}
