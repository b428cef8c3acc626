package bayesopt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"knee/internal/gp"
)

// GP is a Gaussian process conditioned on observations. It is immutable and
// safe for concurrent use.
type GP struct {
	hyper   Hyper
	sigma2  float64
	centre  float64     // subtracted from the responses
	inverse []float64   // factors of the inputs
	x       [][]float64 // n inputs, scaled
	y       []float64   // n responses, centred
	factor  *gp.Factor  // L, L·Lᵀ = K/σ²
	white   []float64   // L⁻¹y
	quad    float64     // yᵀ·(K/σ²)⁻¹·y
}

// checkObservations refuses empty, ragged or non-finite observations.
func checkObservations(x [][]float64, y []float64) error {
	if len(x) == 0 || len(x) != len(y) {
		return fmt.Errorf("gaussian process: found %d inputs and %d responses, want equal numbers, at least one", len(x), len(y))
	}
	for i, row := range x {
		if d := len(x[0]); len(row) != d {
			return fmt.Errorf("gaussian process: input %d has %d columns, want %d", i, len(row), d)
		}
		for j, v := range row {
			if !finite(v) {
				return fmt.Errorf("gaussian process: input %d column %d is %v, want a finite number", i, j, v)
			}
		}
		if !finite(y[i]) {
			return fmt.Errorf("gaussian process: response %d is %v, want a finite number", i, y[i])
		}
	}
	return nil
}

// condition factorises K/σ² and whitens the responses. extra is the variance of
// each observation in addition to the nugget, relative to σ²; nil for none.
func condition(x [][]float64, y, extra []float64, centre float64, h Hyper) (*GP, error) {
	n := len(x)
	g := &GP{hyper: h, sigma2: math.Exp(h.LogSigma2), inverse: h.inverse(), x: make([][]float64, n)}
	for i := range x {
		g.x[i] = make([]float64, len(g.inverse))
		g.scale(g.x[i], x[i])
	}
	corr := mat.NewSymDense(n, nil)
	nugget := math.Exp(h.LogNugget) + minNugget
	for i := range n {
		for j := range i {
			corr.SetSym(i, j, h.prior(distance(g.x[i], g.x[j])))
		}
		corr.SetSym(i, i, h.prior(0)+nugget)
		if extra != nil {
			corr.SetSym(i, i, corr.At(i, i)+extra[i])
		}
	}
	var err error
	if g.factor, err = gp.Factorize(corr); err != nil {
		return nil, fmt.Errorf("%w; the hyperparameters are out of range", err)
	}
	g = g.responding(y, centre)
	if !finite(g.quad) {
		return nil, errors.New("gaussian process: solution is not finite; the hyperparameters are out of range")
	}
	return g, nil
}

// responding returns the process conditioned on other responses to the same
// inputs; it shares the factor.
func (g *GP) responding(y []float64, centre float64) *GP {
	h := *g
	h.centre, h.y = centre, make([]float64, len(y))
	for i := range y {
		h.y[i] = y[i] - centre
	}
	h.white = slices.Clone(h.y)
	h.factor.Whiten(h.white)
	h.quad = floats.Dot(h.white, h.white)
	return &h
}

// Predict returns the posterior mean and variance of the noise-free response at
// x (Rasmussen and Williams 2006, eq. 2.25 and 2.26), in the response's unit
// and its square. The variance is never negative.
func (g *GP) Predict(x []float64) (mean, variance float64) {
	return g.predict(x, make([]float64, g.scratch()))
}

// scratch returns the length of the scratch space of a prediction.
func (g *GP) scratch() int { return len(g.inverse) + len(g.y) }

// NoiseVariance returns the variance of one observation about the response.
func (g *GP) NoiseVariance() float64 { return g.sigma2 * (math.Exp(g.hyper.LogNugget) + minNugget) }

// predict is Predict with scratch space.
func (g *GP) predict(x, scratch []float64) (mean, variance float64) {
	d := len(g.inverse)
	s, v := scratch[:d], scratch[d:d+len(g.y)]
	g.scale(s, x)
	for i := range v {
		v[i] = g.hyper.prior(distance(g.x[i], s))
	}
	g.factor.Whiten(v)
	return g.centre + floats.Dot(v, g.white), g.sigma2 * max(0, g.hyper.prior(0)-floats.Dot(v, v))
}
