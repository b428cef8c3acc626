package memory

import (
	"math"
	"math/rand/v2"
	"slices"
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

// thin keeps at most maxRows observations, evenly spaced.
func thin(rows []observation) []observation {
	if len(rows) <= maxRows {
		return rows
	}
	kept := make([]observation, maxRows)
	for i := range kept {
		kept[i] = rows[i*len(rows)/maxRows]
	}
	return kept
}

// logDensity is the log posterior density of coordinates, up to a constant.
// Peaks scatter as Student's t with four degrees of freedom, as single runs
// allocate differently.
func logDensity(x *[coordinates]float64, rows []observation, prior *[coordinates]Gaussian) float64 {
	var v float64
	for i, p := range prior {
		z := (x[i] - p.Mean) / p.SD
		v -= z * z / 2
	}
	sd := math.Exp(x[noise])
	for i := range rows {
		o := &rows[i]
		if peak := o.point.ln(x); o.ran == 0 {
			z := (o.ln - peak) / sd
			v -= x[noise] + 2.5*math.Log1p(z*z/4)
		} else {
			v += math.Log(student(o.ran*(o.capacity+x[headroom]-peak)/sd) + surprise)
		}
	}
	return v
}

// student is the distribution function of Student's t with four degrees of
// freedom, in closed form.
func student(z float64) float64 {
	u := z / math.Sqrt(4+z*z)
	return .5 + u*(3-u*u)/4
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
// needs neither derivatives nor scales. Without rows it draws from the prior, as
// it does the share that selective recomputation keeps if no row shows it.
func sample(rows []observation, prior [coordinates]Gaussian, seed int64) [][coordinates]float64 {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6d656d))
	dims := selective // the last coordinate
	if slices.ContainsFunc(rows, func(o observation) bool { return o.selective }) {
		dims = coordinates
	}
	draw := func() (x [coordinates]float64) {
		for i, p := range prior[:dims] {
			x[i] = p.Mean + p.SD*rng.NormFloat64()
		}
		return x
	}
	x := make([][coordinates]float64, walkers)
	density := make([]float64, walkers)
	for w := range x {
		// Each walker starts at its likeliest draw, so that none starts where
		// the density vanishes.
		x[w] = draw()
		density[w] = logDensity(&x[w], rows, &prior)
		for range tries {
			if len(rows) == 0 {
				break // an independent draw of the prior
			}
			y := draw()
			if v := logDensity(&y, rows, &prior); v > density[w] {
				x[w], density[w] = y, v
			}
		}
	}
	for i := 0; i < steps && len(rows) > 0; i++ {
		for half := range 2 {
			for w := half; w < walkers; w += 2 {
				other := &x[(rng.IntN(walkers/2)*2+1-half)%walkers]
				z := stretch(rng.Float64())
				var y [coordinates]float64
				for i := range dims {
					y[i] = other[i] + z*(x[w][i]-other[i])
				}
				v := logDensity(&y, rows, &prior)
				if math.Log(rng.Float64()) < float64(dims-1)*math.Log(z)+v-density[w] {
					x[w], density[w] = y, v
				}
			}
		}
	}
	for w := range x {
		for i := dims; i < coordinates; i++ {
			x[w][i] = prior[i].Mean + prior[i].SD*rng.NormFloat64()
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
