package bayesopt

import "math"

// constantRatio is the prior variance of the unknown constant level relative
// to the variance of the Matérn part. The responses are centred before they
// are modelled, so the constant only has to absorb how far the average of a
// few measurements is from the average of the space. (Of 0.3 and 1, 0.3 needed
// fewer evaluations on two of the three kinds of recorded tables, rows left out
// at random, and as many on the third.)
const constantRatio = 0.3

// minNugget is added to every nugget ratio. It keeps the kernel matrix
// numerically positive definite when two inputs coincide.
const minNugget = 1e-8

// Hyper holds the hyperparameters of the kernel
//
//	k(x, x') = σ²·(m(r) + 1 + ρ·[x = x'] + ν·[same observation]),
//	m(r) = (1 + r + r²/3)·e^−r,  r² = 5·Σ_j ((x_j − x'_j)/ℓ_j)²,
//
// an ARD Matérn-5/2 kernel (Rasmussen and Williams 2006, eq. 4.17) plus a
// constant, what is peculiar to an input, and observation noise. Most are
// natural logarithms, so that any real value is admissible.
type Hyper struct {
	LogLength []float64 // ln ℓ_j, one per input column, in units of the column
	LogSigma2 float64   // ln σ², in squared units of the response
	LogNugget float64   // ln ν, noise variance relative to σ²
	// Rough is ρ ≥ 0, the variance relative to σ² of what is peculiar to an
	// input: repeated measurements share it, neighbours do not.
	Rough float64
}

// matern52 returns (1 + r + r²/3)·e^−r for r ≥ 0.
func matern52(r float64) float64 { return (1 + r + r*r/3) * math.Exp(-r) }

// prior returns the covariance of the responses at two inputs at scaled
// distance r, relative to σ².
func (h *Hyper) prior(r float64) float64 {
	if r == 0 {
		return 1 + constantRatio + h.Rough
	}
	return matern52(r) + constantRatio
}

// scaled divides every column of x by its length scale and multiplies by √5,
// so that the Euclidean distance of two results is the r of the kernel.
func (h Hyper) scaled(x []float64) []float64 {
	s := make([]float64, len(x))
	h.scaleInto(s, x)
	return s
}

func (h Hyper) scaleInto(dst, x []float64) {
	for j, v := range x {
		dst[j] = v * math.Sqrt(5) * math.Exp(-h.LogLength[j])
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
