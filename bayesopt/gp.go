package bayesopt

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"knee/internal/gp"
	"knee/internal/list"
)

// constantRatio is the prior variance of the constant level relative to the Matérn part:
// of the mean of the space about that of the measurements.
const constantRatio = 0.3

// minNugget keeps the kernel matrix positive definite when inputs coincide.
const minNugget = 1e-8

// Hyper holds the hyperparameters of the kernel
//
//	k(x, x') = σ²·(m(r) + κ + ε·[x = x'] + ν·[same observation]),
//	m(r) = (1 + r + r²/3)·e^−r,  r² = 5·Σ_j ((x_j − x'_j)/ℓ_j)²,
//
// an ARD Matérn-5/2 kernel (Rasmussen and Williams 2006, eq. 4.17) plus a
// constant (κ is constantRatio), an effect of each input, which its repetitions
// share, and noise (extrinsic and intrinsic variance in Ankenman, Nelson and Staum
// 2010). Logarithms are natural: any real value is valid, of LogNugget −Inf too.
type Hyper struct {
	LogLength []float64 // ln ℓ_j, one per input column, in units of the column
	LogNugget float64   // ln ν, noise variance relative to σ²
	Effect    float64   // ε, variance of the effect of an input relative to σ²
	// Jumps are further inputs, steps of columns, where the response may be
	// discontinuous, as where a data set no longer fits in memory.
	Jumps []Jump
	Ramp  Ramp
}

// Jump is a step function of one column, or of the sum of two (a product, for
// logarithms): 0 up to At, 1/ℓ above.
type Jump struct {
	Column, Second int // Second equals Column for a step of one column
	At             float64
	LogLength      float64 // ln ℓ
}

// Ramp makes the effect of Columns, the knobs, grow with the column By: none up to
// At, then in proportion. So grows communication with the workers, from none on
// one worker or while computation hides it, and with it what its knobs change.
type Ramp struct {
	Columns []int // none: no ramp
	By      int
	At      float64
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
	of := func(logLength float64) float64 { return math.Sqrt(5) * math.Exp(-logLength) }
	jumps := list.Map(h.Jumps, func(j Jump) float64 { return of(j.LogLength) })
	return append(list.Map(h.LogLength, of), jumps...)
}

// scale stores √5·x/ℓ, so that the Euclidean distance of two results is the r of
// the kernel. Equal inputs give bitwise equal results.
func (g *GP) scale(dst, x []float64) {
	d := len(x)
	floats.MulTo(dst[:d], x, g.inverse[:d])
	if r := g.hyper.Ramp; len(r.Columns) > 0 {
		effect := max(0, (x[r.By]-r.At)/(1-r.At))
		for _, j := range r.Columns {
			dst[j] = (0.5 + (x[j]-0.5)*effect) * g.inverse[j]
		}
	}
	for k, jump := range g.hyper.Jumps {
		dst[d+k] = 0
		if jump.beyond(x) {
			dst[d+k] = g.inverse[d+k]
		}
	}
}

// distance returns the Euclidean distance of a and b.
func distance(a, b []float64) (s float64) {
	for j := range a {
		d := a[j] - b[j]
		s += d * d
	}
	return math.Sqrt(s)
}

// GP is a Gaussian process conditioned on observations. It is immutable and
// safe for concurrent use.
type GP struct {
	hyper   Hyper
	sigma2  float64     // σ²; of the prior until [GP.marginalised]
	centre  float64     // subtracted from the responses
	inverse []float64   // factors of the inputs
	raw, x  [][]float64 // n inputs, and scaled
	y       []float64   // n responses, centred
	factor  *gp.Factor  // L, L·Lᵀ = K/σ²
	white   []float64   // L⁻¹y
	told    []float64   // white, with y by what was predicted before each trial
	again   []bool      // of an observation: its input was observed before
	freedom float64     // degrees of freedom of predictions, σ² integrated out
}

// condition factorises K/σ² and whitens the responses. extra is the variance of
// each observation in addition to the nugget, relative to σ²; nil for none.
func condition(x [][]float64, y, extra []float64, centre float64, h Hyper) (*GP, error) {
	n := len(x)
	g := &GP{hyper: h, sigma2: sigmaScale, inverse: h.inverse(), raw: x, x: make([][]float64, n), again: make([]bool, n)}
	for i := range x {
		g.x[i] = make([]float64, len(g.inverse))
		g.scale(g.x[i], x[i])
	}
	corr := mat.NewSymDense(n, nil)
	nugget := h.Effect + math.Exp(h.LogNugget) + minNugget
	for i := range n {
		for j := range i {
			k := h.prior(distance(g.x[i], g.x[j]))
			if slices.Equal(x[i], x[j]) {
				k, g.again[i] = k+h.Effect, true
			}
			corr.SetSym(i, j, k)
		}
		corr.SetSym(i, i, h.prior(distance(g.x[i], g.x[i]))+nugget) // NaN if the input is not finite
		if extra != nil {
			corr.SetSym(i, i, corr.At(i, i)+extra[i])
		}
	}
	var err error
	if g.factor, err = gp.Factorize(corr); err != nil {
		return nil, fmt.Errorf("%w; the hyperparameters are out of range", err)
	}
	g = g.responding(y, centre, nil)
	if !finite(floats.Sum(g.white)) {
		return nil, errors.New("gaussian process: solution is not finite; the hyperparameters are out of range")
	}
	return g, nil
}

// responding returns the process conditioned on other responses to the same inputs.
// surprise, if not nil, is by how much each differed from the mean before it was observed.
func (g *GP) responding(y []float64, centre float64, surprise []float64) *GP {
	h := *g
	h.centre, h.y = centre, slices.Clone(y)
	floats.AddConst(-centre, h.y)
	h.white = slices.Clone(h.y)
	h.factor.Whiten(h.white)
	if h.told = h.white; surprise != nil {
		h.told = slices.Clone(surprise)
		floats.AddConst(-stat.Mean(surprise, nil), h.told)
		h.factor.Whiten(h.told)
	}
	return &h
}

// Predict returns the posterior mean and variance of the noise-free response at
// x (Rasmussen and Williams 2006, eq. 2.25 and 2.26), in the response's unit
// and its square. The variance is never negative.
func (g *GP) Predict(x []float64) (mean, variance float64) {
	mean, variance, _ = g.predict(x, nil)
	return mean, variance
}

// NoiseVariance returns the variance of one observation about the response.
func (g *GP) NoiseVariance() float64 { return g.sigma2 * (math.Exp(g.hyper.LogNugget) + minNugget) }

// whitened is an input, scaled, and L⁻¹ times its covariance with the observations.
type whitened struct{ raw, scaled, v []float64 }

// predict is Predict that also returns x whitened, in the scratch space if not nil.
func (g *GP) predict(x, scratch []float64) (mean, variance float64, at whitened) {
	d := len(g.inverse)
	if scratch == nil {
		scratch = make([]float64, d+len(g.y))
	}
	s, v := scratch[:d], scratch[d:d+len(g.y)]
	g.scale(s, x)
	for i := range v {
		if v[i] = g.hyper.prior(distance(g.x[i], s)); slices.Equal(g.raw[i], x) {
			v[i] += g.hyper.Effect
		}
	}
	g.factor.Whiten(v)
	variance = g.sigma2 * max(0, g.hyper.prior(0)+g.hyper.Effect-floats.Dot(v, v))
	return g.centre + floats.Dot(v, g.white), variance, whitened{x, s, v}
}

// covariance returns the posterior covariance of the response at two inputs.
func (g *GP) covariance(a, b whitened) float64 {
	c := g.hyper.prior(distance(a.scaled, b.scaled)) - floats.Dot(a.v, b.v)
	if slices.Equal(a.raw, b.raw) {
		c += g.hyper.Effect
	}
	return g.sigma2 * c
}

// Sample draws the noise-free responses at the points. The cost is cubic in their number.
func (g *GP) Sample(points [][]float64, rng *rand.Rand) []float64 {
	return g.joint(points, rng).Rand(nil)
}

// joint returns the posterior distribution of the responses at some inputs.
func (g *GP) joint(points [][]float64, rng *rand.Rand) *distmv.Normal {
	n := len(points)
	level, at := make([]float64, n), make([]whitened, n)
	for k, x := range points {
		level[k], _, at[k] = g.predict(x, nil)
	}
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			cov.SetSym(i, j, g.covariance(at[i], at[j]))
		}
	}
	joint, ok := distmv.NewNormal(level, cov, rng)
	for jitter := 1e-9 * g.sigma2; !ok; jitter *= 10 {
		for i := range n {
			cov.SetSym(i, i, cov.At(i, i)+jitter)
		}
		joint, ok = distmv.NewNormal(level, cov, rng)
	}
	return joint
}
