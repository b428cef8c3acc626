package bayesopt

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// GP is a Gaussian process conditioned on observations. It is immutable and
// safe for concurrent use.
type GP struct {
	hyper  Hyper
	sigma2 float64
	centre float64     // subtracted from the responses before they are modelled
	inv    []float64   // √5/ℓ_j
	x      [][]float64 // n inputs, scaled
	y      []float64   // n responses, centred
	low    [][]float64 // rows of L, L·Lᵀ = K/σ²
	alpha  []float64   // (K/σ²)⁻¹·y
	logDet float64     // ln |K/σ²|
	quad   float64     // yᵀ·(K/σ²)⁻¹·y
}

// NewGP conditions a Gaussian process with the given hyperparameters on n ≥ 1
// observations y at the inputs x (n rows of equal length). Coinciding inputs
// are allowed, and so are inputs without columns. Non-finite numbers and
// ragged or empty inputs are errors.
func NewGP(x [][]float64, y []float64, h Hyper) (*GP, error) {
	if err := checkObservations(x, y, len(h.LogLength)); err != nil {
		return nil, err
	}
	return condition(x, y, mean(y), h)
}

// checkObservations refuses what no kernel can be evaluated on.
func checkObservations(x [][]float64, y []float64, d int) error {
	if len(x) == 0 || len(x) != len(y) {
		return fmt.Errorf("gaussian process: found %d inputs and %d responses, want as many of both, at least one", len(x), len(y))
	}
	for i, row := range x {
		if len(row) != d {
			return fmt.Errorf("gaussian process: input %d has %d columns, want %d", i, len(row), d)
		}
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("gaussian process: input %d column %d is %v, want a finite number", i, j, v)
			}
		}
		if math.IsNaN(y[i]) || math.IsInf(y[i], 0) {
			return fmt.Errorf("gaussian process: response %d is %v, want a finite number", i, y[i])
		}
	}
	return nil
}

// condition factorises K/σ² and solves for the weights. It adds jitter, from
// 1e-10 upwards, if rounding has made the matrix indefinite.
func condition(x [][]float64, y []float64, centre float64, h Hyper) (*GP, error) {
	n := len(x)
	g := &GP{hyper: h, sigma2: math.Exp(h.LogSigma2), centre: centre,
		inv: make([]float64, len(h.LogLength)), x: make([][]float64, n), y: make([]float64, n)}
	for j, l := range h.LogLength {
		g.inv[j] = math.Sqrt(5) * math.Exp(-l)
	}
	for i := range x {
		g.x[i], g.y[i] = h.scaled(x[i]), y[i]-centre
	}
	corr := mat.NewSymDense(n, nil)
	nugget := math.Exp(h.LogNugget) + minNugget
	for i := range n {
		for j := range i {
			corr.SetSym(i, j, h.prior(distance(g.x[i], g.x[j])))
		}
		corr.SetSym(i, i, h.prior(0)+nugget)
	}
	var chol mat.Cholesky
	for jitter := 1e-10; !chol.Factorize(corr); jitter *= 100 {
		if jitter > 1e-2 {
			return nil, errors.New("gaussian process: kernel matrix is not positive definite; the hyperparameters are out of range")
		}
		for i := range n {
			corr.SetSym(i, i, corr.At(i, i)+jitter)
		}
	}
	return g, g.solve(&chol)
}

// solve copies the factor into rows, which makes predictions at single points
// free of allocation, and computes what all of them share.
func (g *GP) solve(chol *mat.Cholesky) error {
	n := len(g.y)
	var lower mat.TriDense
	chol.LTo(&lower)
	g.low = make([][]float64, n)
	for i := range n {
		g.low[i] = make([]float64, i+1)
		for j := range i + 1 {
			g.low[i][j] = lower.At(i, j)
		}
	}
	var alpha mat.VecDense
	err := chol.SolveVecTo(&alpha, mat.NewVecDense(n, g.y))
	// A badly conditioned matrix is reported but solved all the same; only
	// results that are not numbers are useless.
	if err != nil && !errors.As(err, new(mat.Condition)) {
		return fmt.Errorf("gaussian process: %w", err)
	}
	g.alpha = alpha.RawVector().Data
	g.logDet = chol.LogDet()
	for i, a := range g.alpha {
		g.quad += a * g.y[i]
	}
	if math.IsNaN(g.quad) || math.IsInf(g.quad, 0) {
		return errors.New("gaussian process: solution is not finite; the hyperparameters are out of range")
	}
	return nil
}

// responding returns the process of the same inputs and hyperparameters
// conditioned on other responses: the factor is shared, and only the weights
// are solved for again.
func (g *GP) responding(y []float64, centre float64) *GP {
	n := len(y)
	h := *g
	h.centre, h.y, h.alpha, h.quad = centre, make([]float64, n), make([]float64, n), 0
	for i, row := range g.low {
		h.y[i] = y[i] - centre
		v := h.y[i]
		for j, l := range row[:i] {
			v -= l * h.alpha[j]
		}
		h.alpha[i] = v / row[i]
		h.quad += h.alpha[i] * h.alpha[i]
	}
	for i := n - 1; i >= 0; i-- {
		h.alpha[i] /= g.low[i][i]
		for j, l := range g.low[i][:i] {
			h.alpha[j] -= l * h.alpha[i]
		}
	}
	return &h
}

// Hyper returns the hyperparameters the process was conditioned with.
func (g *GP) Hyper() Hyper { return g.hyper }

// Len returns the number of observations.
func (g *GP) Len() int { return len(g.y) }

// LogLikelihood returns the log marginal likelihood of the centred responses
// (Rasmussen and Williams 2006, eq. 2.30).
func (g *GP) LogLikelihood() float64 {
	n := float64(len(g.y))
	return -0.5*g.quad/g.sigma2 - 0.5*g.logDet - 0.5*n*math.Log(2*math.Pi*g.sigma2)
}

// Predict returns the posterior mean and variance of the noise-free response
// at x (eq. 2.25 and 2.26), in units of the response and its square. The
// variance is never negative.
func (g *GP) Predict(x []float64) (mean, variance float64) {
	return g.predict(x, make([]float64, len(x)+len(g.y)))
}

// NoiseVariance returns the variance of one observation about the response.
func (g *GP) NoiseVariance() float64 { return g.sigma2 * (math.Exp(g.hyper.LogNugget) + minNugget) }

// predict is Predict with len(x)+n numbers of scratch space.
func (g *GP) predict(x, scratch []float64) (mean, variance float64) {
	s, v := scratch[:len(x)], scratch[len(x):len(x)+len(g.y)]
	for j := range x {
		s[j] = x[j] * g.inv[j]
	}
	reduced := 0.0
	for i, row := range g.low {
		k := g.hyper.prior(distance(g.x[i], s))
		mean += k * g.alpha[i]
		// Forward substitution for L·v = k, row by row.
		done := v[:i]
		for j, l := range row[:len(done)] {
			k -= l * done[j]
		}
		k /= row[i]
		v[i] = k
		reduced += k * k
	}
	return g.centre + mean, g.sigma2 * max(0, g.hyper.prior(0)-reduced)
}

// Believe returns the process conditioned on one more observation at x whose
// response is its own prediction there: the kriging believer (Ginsbourger,
// Le Riche and Carraro 2010, section 4.2). Means stay as they are; the
// variance around x shrinks, so that a second trial is not sent to a place
// where one is already running.
func (g *GP) Believe(x []float64) (*GP, error) {
	mu, _ := g.Predict(x)
	n := len(g.y)
	raw, y := make([][]float64, n+1), make([]float64, n+1)
	for i := range n {
		raw[i] = make([]float64, len(x))
		for j := range x {
			raw[i][j] = g.x[i][j] / g.inv[j]
		}
		y[i] = g.y[i] + g.centre
	}
	raw[n], y[n] = x, mu
	return condition(raw, y, g.centre, g.hyper)
}

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}
