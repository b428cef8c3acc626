package form

// Feature is a variable of a point whose exponential, to a power, multiplies
// the step time.
type Feature struct {
	Name   string  // name of its slope
	Center float64 // value at which the factor is one
	At     func(p *Point) float64
}

// sloped is a form times exp(Σ slope·(feature − center)).
type sloped struct {
	base     Form
	n        int // parameters of base
	features []Feature
}

// NewSloped returns base with slopes.
func NewSloped(base Form, features []Feature) Form {
	return &sloped{base, len(base.Names()), features}
}

func (f *sloped) Names() []string {
	names := f.base.Names()
	for _, g := range f.features {
		names = append(names, g.Name)
	}
	return names
}

func (f *sloped) Starts() []map[string]float64 { return f.base.Starts() }

func (f *sloped) Bind(x []float64) Curve {
	c := &slopedCurve{Fitted: f.base.Bind(x[:f.n]).(Fitted), slopes: x[f.n:], form: f}
	c.parts, _ = c.Fitted.(Separable)
	return c
}

func (f *sloped) Gradient(x []float64) func(p *Point, step, compute []float64) {
	base := f.base.Gradient(x[:f.n])
	return func(p *Point, step, compute []float64) {
		base(p, step[:f.n], compute[:f.n])
		for i, g := range f.features {
			step[f.n+i] = g.At(p) - g.Center
			compute[f.n+i] = step[f.n+i]
		}
	}
}

// slopedCurve is a sloped form with its parameters filled in.
type slopedCurve struct {
	Fitted
	parts  Separable // the same curve, nil if it has no parts
	slopes []float64
	form   *sloped
}

// factors returns the features minus their centers.
func (f *sloped) factors(p *Point) []float64 {
	x := make([]float64, len(f.features))
	for i, g := range f.features {
		x[i] = g.At(p) - g.Center
	}
	return x
}

func (c *slopedCurve) LogTimes(p *Point) (step, compute float64) {
	step, compute = c.Fitted.LogTimes(p)
	for i, g := range c.form.features {
		ln := c.slopes[i] * (g.At(p) - g.Center)
		step, compute = step+ln, compute+ln
	}
	return step, compute
}

func (c *slopedCurve) Params() []Param {
	ps := c.Fitted.Params()
	for i, g := range c.form.features {
		ps = append(ps, param(g.Name, "", c.slopes[i]))
	}
	return ps
}

// Separable is a curve that joins a part for batch and width of the placement
// with a part for the placement, by their powers. Predictions that share a part
// compute it once per draw.
type Separable interface {
	LnCompute(p *Point) float64
	ComputePower(lnCompute float64) float64
	SyncPower(p *Point) float64
	Join(p *Point, lnCompute, compute, sync float64) float64
}
