package form

// typed is a form with separate parameters for each GPU type.
type typed struct {
	Form
	n, types int
}

// NewTyped returns f with one block of parameters per GPU type.
func NewTyped(f Form, types int) Form {
	if types == 1 {
		return f
	}
	return &typed{f, len(f.Names()), types}
}

func (f *typed) Bind(x []float64) Curve {
	c := make(typedCurve, f.types)
	for t := range c {
		c[t] = f.Form.Bind(x[t*f.n : (t+1)*f.n])
	}
	return c
}

func (f *typed) Gradient(x []float64) func(p *Point, step, compute []float64) {
	var of []func(p *Point, step, compute []float64)
	for t := range f.types {
		of = append(of, f.Form.Gradient(x[t*f.n:(t+1)*f.n]))
	}
	return func(p *Point, step, compute []float64) {
		at, to := p.Type*f.n, (p.Type+1)*f.n
		of[p.Type](p, step[at:to], compute[at:to])
	}
}

type typedCurve []Curve

func (c typedCurve) LogTimes(p *Point) (step, compute float64) { return c[p.Type].LogTimes(p) }

// ofType returns the curve of a GPU type, with its slopes.
func ofType(c Curve, t int) Curve {
	if all, ok := c.(typedCurve); ok {
		return all[t]
	}
	return c
}

// OfType returns a GPU type's curve without slopes; nil if there is none.
func OfType(c Curve, t int) Fitted {
	c = ofType(c, t)
	if s, ok := c.(*slopedCurve); ok {
		return s.Fitted
	}
	f, _ := c.(Fitted)
	return f
}

// ParamsOf returns the parameters of c for a GPU type, slopes included.
func ParamsOf(c Curve, t int) []Param { return ofType(c, t).(Fitted).Params() }

// Parts are the curve of a GPU type that joins a part for batch and width with one for the
// placement, and its slopes. Predictions compute shared parts once per draw.
type Parts struct {
	*collective
	of *slopedCurve
}

// Factors returns the variables of the slopes.
func (c Parts) Factors(p *Point) []float64 { return c.of.form.factors(p) }

// Effects returns ln of the slopes' factors on the step and on communication.
func (c Parts) Effects(factors []float64) (step, links float64) {
	return c.of.form.effects(c.of.slopes, factors)
}

// PartsOf returns the parts of a curve that satisfies [IsSeparable].
func PartsOf(c Curve, t int) Parts {
	s := ofType(c, t).(*slopedCurve)
	return Parts{s.Fitted.(*collective), s}
}

// IsSeparable reports whether c has [Parts].
func IsSeparable(c Curve) bool {
	s, ok := ofType(c, 0).(*slopedCurve)
	if ok {
		_, ok = s.Fitted.(*collective)
	}
	return ok
}
