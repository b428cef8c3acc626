package fit

import "math"

// gradienter is a form that knows its derivatives. Every nonlinear family
// does; the linear ones follow from their features.
type gradienter interface {
	// gradient fills step and compute with the derivatives of both results
	// of logTimes by the coordinates of the solver; both come in as zeros.
	gradient(x []float64, p *point, step, compute []float64)
}

// gradient differentiates any form: by its own rule, by the features of a
// linear one, else by central differences.
func gradient(f form, c curve, x []float64, p *point, step, compute []float64) {
	clear(step)
	clear(compute)
	if g, ok := f.(gradienter); ok {
		g.gradient(x, p, step, compute)
		return
	}
	for j := range x {
		// The cube root of the machine precision balances truncation and
		// rounding; relative, as linear coefficients have any size.
		h := 6e-6 * math.Max(1, math.Abs(x[j]))
		if lf, ok := f.(linearForm); ok {
			h = 6e-6 * math.Max(math.Abs(x[j]), lf.prior().sd[j])
		}
		keep := x[j]
		x[j] = keep + h
		s1, c1 := f.bind(x).logTimes(p)
		x[j] = keep - h
		s0, c0 := f.bind(x).logTimes(p)
		x[j] = keep
		step[j], compute[j] = (s1-s0)/(2*h), (c1-c0)/(2*h)
	}
}
