package bayesopt

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"knee/internal/gp"
)

// classifier says what fits by a Gaussian process of the headroom,
//
//	g(x) = w₀ + Σ_j w_j·x_j + r(x),  P(fits) = Φ(g/softness),
//
// with the kernel of the surrogate for r, which neighbours share: what fails
// need not lie beyond a line (Rasmussen and Williams 2006, sections 2.7 and 3.4,
// Laplace's approximation).
type classifier struct {
	*headroom
	usual  float64 // score of the usual share of candidates that fit
	hyper  Hyper
	rough  float64 // standard deviation of r
	sites  []site
	inputs [][]float64 // of the sites, scaled by the kernel
	scale  scale
	slope  []float64 // of the log likelihood at the mode
	root   []float64 // square roots of its curvature
	factor *gp.Factor
	logged float64 // log marginal likelihood
}

// mean is the prior mean of the headroom.
func (c *classifier) mean(s site) float64 {
	variance := softness*softness + c.rough*c.rough*c.hyper.prior(0)
	if s.row == nil {
		return s.score * math.Sqrt(variance)
	}
	return s.mean + c.usual*math.Sqrt(variance+c.rest+c.between)
}

// covariance is that of the headroom at two sites, whose scaled inputs are given.
func (c *classifier) covariance(a, b site, u, v []float64) float64 {
	k := 0.0
	if a.row != nil && b.row != nil {
		k = floats.Dot(a.row, b.row)
	}
	if c.rough > 0 {
		k += c.rough * c.rough * c.hyper.prior(distance(u, v))
	}
	return k
}

func (c *classifier) input(x []float64) []float64 {
	u := make([]float64, c.hyper.width())
	c.scale.into(u, x)
	return u
}

// learn finds the mode of the headrooms of the trials by Newton's method
// (algorithm 3.1).
func (c *classifier) learn(fits []bool) error {
	n := len(c.sites)
	if n == 0 {
		return nil
	}
	k, mean := mat.NewSymDense(n, nil), make([]float64, n)
	for i, s := range c.sites {
		c.inputs, mean[i] = append(c.inputs, c.input(s.x)), c.mean(s)
		for j := range i + 1 {
			k.SetSym(i, j, c.covariance(s, c.sites[j], c.inputs[i], c.inputs[j]))
		}
	}
	c.slope, c.root = make([]float64, n), make([]float64, n)
	b, g, a := mat.NewSymDense(n, nil), slices.Clone(mean), make([]float64, n)
	for last := math.Inf(-1); ; {
		likelihood := 0.0
		for i, v := range g {
			sign := -1.0
			if fits[i] {
				sign = 1
			}
			z := sign * v / softness
			log := logNormalCDF(z)
			ratio := math.Exp(logDensity(z) - log)
			likelihood += log
			c.slope[i], c.root[i] = sign*ratio/softness, math.Sqrt(ratio*(ratio+z))/softness
			for j := range i + 1 {
				b.SetSym(i, j, c.root[i]*k.At(i, j)*c.root[j])
			}
			b.SetSym(i, i, 1+b.At(i, i))
		}
		var err error
		if c.factor, err = gp.Factorize(b); err != nil {
			return err
		}
		for i, v := range g {
			likelihood -= 0.5 * a[i] * (v - mean[i])
		}
		c.logged = likelihood - 0.5*c.factor.LogDet()
		if likelihood < last+1e-6 {
			return nil
		}
		last = likelihood
		c.step(k, mean, g, a)
	}
}

// step moves g to the mode of the quadratic approximation, and a to K⁻¹(g − mean).
func (c *classifier) step(k *mat.SymDense, mean, g, a []float64) {
	n := len(g)
	for i := range g {
		a[i] = c.root[i]*c.root[i]*(g[i]-mean[i]) + c.slope[i]
	}
	at, pulled := mat.NewVecDense(n, a), mat.NewVecDense(n, nil)
	pulled.MulVec(k, at)
	pulled.MulElemVec(pulled, mat.NewVecDense(n, c.root))
	c.factor.Solve(blas64.General{Rows: n, Cols: 1, Stride: 1, Data: pulled.RawVector().Data})
	pulled.MulElemVec(pulled, mat.NewVecDense(n, c.root))
	at.SubVec(at, pulled)
	pulled.MulVec(k, at)
	for i := range g {
		g[i] = mean[i] + pulled.AtVec(i)
	}
}

// fits returns the probability that a site fits.
func (c *classifier) fits(s site) float64 {
	u, v := c.input(s.x), make([]float64, len(c.sites))
	mean, variance := c.mean(s), softness*softness+c.covariance(s, s, u, u)
	for i, t := range c.sites {
		v[i] = c.covariance(s, t, u, c.inputs[i])
	}
	mean += floats.Dot(v, c.slope)
	floats.Mul(v, c.root)
	if len(v) > 0 {
		c.factor.Whiten(v)
	}
	return normalCDF(mean / math.Sqrt(variance-floats.Dot(v, v)))
}
