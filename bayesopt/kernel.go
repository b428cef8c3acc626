package bayesopt

import "math"

// minNugget is added to every nugget ratio to keep the kernel matrix positive
// definite when inputs coincide.
const minNugget = 1e-8

// Hyper holds the hyperparameters of the kernel
//
//	k(x, x') = σ²·(m(r) + κ + ν·[same observation]),
//	m(r) = (1 + r + r²/3)·e^−r,  r² = 5·Σ_j ((x_j − x'_j)/ℓ_j)²,
//
// an ARD Matérn-5/2 kernel (Rasmussen and Williams 2006, eq. 4.17) plus a
// constant (κ is constantRatio) and noise, of the observation and of the input.
// They are natural logarithms: any real value is valid.
type Hyper struct {
	LogLength []float64 // ln ℓ_j, one per input column, in units of the column
	LogSigma2 float64   // ln σ², in squared units of the response
	LogNugget float64   // ln ν, noise variance relative to σ²
	// Jumps are further inputs, steps of columns, where the response may be
	// discontinuous, as where a data set no longer fits in memory.
	Jumps []Jump
}

// Jump is a step function of one column, or of the sum of two (a product, for
// logarithms): 0 up to At, 1/ℓ above.
type Jump struct {
	Column, Second int // Second equals Column for a step of one column
	At             float64
	LogLength      float64 // ln ℓ
}

// beyond reports whether x is above the step.
func (j Jump) beyond(x []float64) bool { return (x[j.Column]+x[j.Second])/2 > j.At }

// prior returns the covariance of the responses at two inputs at scaled
// distance r, relative to σ².
func (h *Hyper) prior(r float64) float64 {
	return (1+r+r*r/3)*math.Exp(-r) + constantRatio
}

// inverse returns √5/ℓ of the columns and then the jumps.
func (h *Hyper) inverse() []float64 {
	var out []float64
	for _, l := range h.LogLength {
		out = append(out, math.Sqrt(5)*math.Exp(-l))
	}
	for _, j := range h.Jumps {
		out = append(out, math.Sqrt(5)*math.Exp(-j.LogLength))
	}
	return out
}

// scale stores √5·x/ℓ, so that the Euclidean distance of two results is the r of
// the kernel. Equal inputs give bitwise equal results.
func (g *GP) scale(dst, x []float64) {
	d := len(x)
	for j, v := range x {
		dst[j] = v * g.inverse[j]
	}
	for k, jump := range g.hyper.Jumps {
		dst[d+k] = 0
		if jump.beyond(x) {
			dst[d+k] = g.inverse[d+k]
		}
	}
}

// distance returns the Euclidean distance of a and b.
func distance(a, b []float64) float64 {
	var s float64
	for j := range a {
		d := a[j] - b[j]
		s += d * d
	}
	return math.Sqrt(s)
}
