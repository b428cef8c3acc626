package speed

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// coordinates map standard normal variates z, which the solver uses, to the
// parameters of a form: θ = mean + C·z, with CCᵀ the prior covariance.
// Parameters of one job's GPU types correlate by the job's effect.
type coordinates struct {
	n, types int
	mean     []float64   // types blocks of n
	chol     [][]float64 // per coordinate, the lower triangle of C, types×types
	// Some parameters are relative to others, which are not.
	relations []relation
	totals    []total
}

// newCoordinates combines the priors of the coordinates of each GPU type.
func newCoordinates(of [][]prior.Coordinate) *coordinates {
	c := &coordinates{n: len(of[0]), types: len(of)}
	for _, block := range of {
		for _, p := range block {
			c.mean = append(c.mean, p.Mean)
		}
	}
	for i := range c.n {
		cov := mat.NewSymDense(c.types, nil)
		for t := range c.types {
			for u := range t + 1 {
				a, b := of[t][i], of[u][i]
				// the part of the variance over jobs that both types share
				cov.SetSym(t, u, a.SD*b.SD*math.Sqrt((1-a.Own)*(1-b.Own)))
				if t == u {
					cov.SetSym(t, t, a.SD*a.SD)
				}
			}
		}
		c.chol = append(c.chol, lowerOf(cov))
	}
	return c
}

// lowerOf is the Cholesky factor of a small matrix, zero where it is singular.
func lowerOf(k *mat.SymDense) []float64 {
	n := k.SymmetricDim()
	l := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			s := k.At(i, j)
			for m := range j {
				s -= l[i*n+m] * l[j*n+m]
			}
			switch {
			case i == j:
				l[i*n+i] = math.Sqrt(max(s, 0))
			case l[j*n+j] > 0:
				l[i*n+j] = s / l[j*n+j]
			}
		}
	}
	return l
}

func (c *coordinates) len() int { return c.n * c.types }

// theta returns the parameters at z.
func (c *coordinates) theta(z []float64) []float64 {
	x := append([]float64(nil), c.mean...)
	for i, l := range c.chol {
		for t := range c.types {
			for u := range t + 1 {
				x[t*c.n+i] += l[t*c.types+u] * z[u*c.n+i]
			}
		}
	}
	for i := range c.totals {
		c.totals[i].apply(x)
	}
	for _, r := range c.relations {
		x[r.to] += blas64.Dot(vec(r.weights), vec(x))
	}
	return x
}

// z is the inverse of theta.
func (c *coordinates) z(theta []float64) []float64 {
	z := make([]float64, len(theta))
	theta = append([]float64(nil), theta...)
	for _, r := range c.relations {
		theta[r.to] -= blas64.Dot(vec(r.weights), vec(theta))
	}
	for i := range c.totals {
		c.totals[i].undo(theta)
	}
	for i, l := range c.chol {
		for t := range c.types {
			d := theta[t*c.n+i] - c.mean[t*c.n+i]
			for u := range t {
				d -= l[t*c.types+u] * z[u*c.n+i]
			}
			if s := l[t*c.types+t]; s > 0 {
				z[t*c.n+i] = d / s
			}
		}
	}
	return z
}

// pull turns derivatives by θ, at θ, into derivatives by z, in place.
func (c *coordinates) pull(theta, d []float64) {
	for _, r := range c.relations {
		blas64.Axpy(d[r.to], vec(r.weights), vec(d))
	}
	for i := range c.totals {
		c.totals[i].pull(theta, d)
	}
	for i, l := range c.chol {
		for u := range c.types { // in place: d[u] is not needed for later u
			var s float64
			for t := u; t < c.types; t++ {
				s += l[t*c.types+u] * d[t*c.n+i]
			}
			d[u*c.n+i] = s
		}
	}
}

// starts returns the solver's starting points.
func (c *coordinates) starts(f form.Form) [][]float64 {
	names := f.Names()
	var all [][]float64
	for _, shift := range f.Starts() {
		x := c.theta(make([]float64, c.len()))
		for j := range x {
			x[j] += shift[names[j%c.n]]
		}
		all = append(all, c.z(x))
	}
	return all
}

// sd returns the prior standard deviation of an entry of θ.
func (c *coordinates) sd(at int) float64 {
	t := at / c.n
	var v float64
	for u := range t + 1 {
		v += sq(c.chol[at%c.n][t*c.types+u])
	}
	return math.Sqrt(v)
}
