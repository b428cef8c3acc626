package memory

import (
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// observation is one measurement in the form's quantities.
type observation struct {
	point
	ran      float64 // 1 or, out of memory, −1; 0 if the peak was recorded
	ln       float64 // ln bytes of the peak, if recorded
	capacity float64 // ln of the bytes of the device
}

// maxRows bounds the observations used; more hardly narrow the coordinates.
const maxRows = 96

// logPrior is the log prior density of coordinates, up to a constant.
func logPrior(x *[coordinates]float64, prior *[coordinates]Gaussian) (v float64) {
	for i, p := range prior {
		z := (x[i] - p.Mean) / p.SD
		v -= z * z / 2
	}
	return v
}

// logLikelihood is the log likelihood of coordinates, up to a constant. Peaks
// scatter as Student's t with four degrees of freedom, as single runs allocate
// differently.
func logLikelihood(x *[coordinates]float64, rows []observation) (v float64) {
	sd := math.Exp(x[noise])
	for i := range rows {
		o := &rows[i]
		if o.ran == 0 {
			z := (o.ln - o.point.lnReported(x)) / sd
			v -= x[noise] + 2.5*math.Log1p(z*z/4)
		} else {
			v += math.Log(student(o.ran*(o.capacity+x[headroom]-o.point.ln(x))/sd) + surprise)
		}
	}
	return v
}

// student is the distribution function of Student's t with four degrees of
// freedom, in closed form.
func student(z float64) float64 {
	u := z / math.Sqrt(4+z*z)
	return max(.5+u*(3-u*u)/4, 0) // not below by rounding
}

// scatter returns one quantile of that t distribution per walker, evenly spaced
// in probability.
var scatter = sync.OnceValue(func() []float64 {
	v := make([]float64, walkers)
	for i := range v {
		v[i] = distuv.StudentsT{Sigma: 1, Nu: 4}.Quantile((float64(i) + .5) / walkers)
	}
	return v
})

// surprise is the probability that a run succeeded or failed for a reason
// outside the form, such as another process on the device.
const surprise = .01

// Size of the sampler: draws returned, steps per draw, and prior draws tried
// for each start.
const (
	walkers = 128
	steps   = 250
	tries   = 64
)

// sample draws from the posterior with the affine-invariant ensemble sampler
// (Goodman and Weare, "Ensemble samplers with affine invariance", 2010), which
// needs neither derivatives nor scales. Without rows it draws from the prior.
func sample(rows []observation, prior [coordinates]Gaussian, seed int64) [][coordinates]float64 {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6d656d))
	draw := func() (x [coordinates]float64) {
		for i, p := range prior {
			x[i] = p.Mean + p.SD*rng.NormFloat64()
		}
		return x
	}
	x := make([][coordinates]float64, walkers)
	for i, p := range prior { // a Latin hypercube
		for w, at := range rng.Perm(walkers) {
			x[w][i] = p.Mean + p.SD*distuv.UnitNormal.Quantile((float64(at)+.5)/walkers)
		}
	}
	if len(rows) == 0 {
		return x
	}
	density := make([]float64, walkers)
	for w := range x {
		// Each walker starts at its likeliest draw, so that none starts where
		// the density vanishes.
		likelihood := logLikelihood(&x[w], rows)
		for range tries {
			y := draw()
			if v := logLikelihood(&y, rows); v > likelihood {
				x[w], likelihood = y, v
			}
		}
		density[w] = likelihood + logPrior(&x[w], &prior)
	}
	for range steps {
		for half := range 2 {
			for w := half; w < walkers; w += 2 {
				other := &x[(rng.IntN(walkers/2)*2+1-half)%walkers]
				z := stretch(rng.Float64())
				var y [coordinates]float64
				for i := range y {
					y[i] = other[i] + z*(x[w][i]-other[i])
				}
				v := logLikelihood(&y, rows) + logPrior(&y, &prior)
				if math.Log(rng.Float64()) < float64(coordinates-1)*math.Log(z)+v-density[w] {
					x[w], density[w] = y, v
				}
			}
		}
	}
	return x
}

// stretch turns a uniform variate into a draw of density ∝ 1/√z on [½, 2].
func stretch(u float64) float64 {
	const a = 2.
	root := u*(math.Sqrt(a)-1/math.Sqrt(a)) + 1/math.Sqrt(a)
	return root * root
}
