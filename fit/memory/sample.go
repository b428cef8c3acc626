package memory

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/internal/gp"
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

// log is the log density at x, up to a constant.
func (g Gaussian) log(x float64) float64 {
	z := (x - g.Mean) / g.SD
	return -z * z / 2
}

// evidence is what measurements tell.
type evidence struct {
	peaks    []observation // recorded
	factor   *gp.Factor    // of their correlation
	censored []observation
}

func evidenceOf(rows []observation) (e evidence) {
	for _, o := range rows {
		if o.ran == 0 {
			e.peaks = append(e.peaks, o)
		} else {
			e.censored = append(e.censored, o)
		}
	}
	e.factor = factorize(e.peaks)
	return e
}

// logLikelihood is that of coordinates, up to a constant. Each peak, given those before it,
// scatters as Student's t with four degrees of freedom, as single runs allocate differently.
func (e *evidence) logLikelihood(x []float64) (v float64) {
	f := factorsOf(x)
	tail, chance := 1., 1. // products of the rows', as logarithms take time
	for _, z := range e.residuals(&f) {
		z /= f.sd
		v -= x[noise]
		if tail *= 1 + z*z/4; tail > 1e100 { // before it overflows
			v, tail = v-2.5*math.Log(tail), 1
		}
	}
	for i := range e.censored {
		o := &e.censored[i]
		chance *= student(o.ran*(o.capacity+f.headroom-o.point.ln(&f))/f.sd) + surprise
	}
	v += math.Log(chance) - 2.5*math.Log(tail)
	if !(v > leastLikely) { // also of bytes beyond all numbers
		return leastLikely
	}
	return v
}

// leastLikely is below the log likelihood of any record.
const leastLikely = -1e9

// student is the distribution function of that t, in closed form.
func student(z float64) float64 {
	u := z / math.Sqrt(4+z*z)
	return max(.5+u*(3-u*u)/4, 0) // not below by rounding
}

// scatter returns a quantile of that t per walker, evenly spaced in probability.
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

// walkers is the number of draws, moves that of the steps each takes for each
// coordinate at a power of the likelihood: the length of such a chain grows with the
// coordinates (Roberts, Gelman and Gilks, 1997).
const walkers, moves = 128, 2

// walker is a draw and its log likelihood.
type walker struct {
	x          []float64
	likelihood float64
}

// sample draws from the posterior, without rows the prior. Draws of the prior, many more so
// that few are resampled often, are weighted by a power of the likelihood that leaves half
// as many effective as are wanted, resampled and moved, until it is 1 (Del Moral, Doucet
// and Jasra, "Sequential Monte Carlo samplers", 2006).
func sample(rows evidence, prior []Gaussian, seed int64) []walker {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6d656d))
	n := walkers
	none := len(rows.peaks)+len(rows.censored) == 0
	if !none {
		n *= moves * len(prior)
	}
	all := make([]walker, n)
	for w := range all {
		all[w].x = make([]float64, len(prior))
	}
	for i, p := range prior { // a Latin hypercube
		for w, at := range rng.Perm(n) {
			all[w].x[i] = p.Mean + p.SD*distuv.UnitNormal.Quantile((float64(at)+.5)/float64(n))
		}
	}
	if none {
		return all
	}
	for w := range all {
		all[w].likelihood = rows.logLikelihood(all[w].x)
	}
	for power := 0.; power < 1; {
		rise, step := 0., 1-power // bisection
		for range 30 {
			if _, effective := weigh(all, rise+step); effective >= walkers/2 && power+rise+step <= 1 {
				rise += step
			}
			step /= 2
		}
		weights, _ := weigh(all, rise)
		power += rise
		chosen, at, sum, start := make([]walker, walkers), 0, weights[0], rng.Float64()
		for w := range chosen { // evenly spaced in probability
			for ; sum < (float64(w)+start)/walkers && at < len(all)-1; at++ {
				sum += weights[at+1]
			}
			chosen[w] = all[at]
		}
		all = chosen
		for range moves * len(prior) {
			for w := range all {
				all[w].move(all, power, &rows, prior, rng)
			}
		}
	}
	return all
}

// weigh returns the weights of walkers by a power of the likelihood, which sum to
// one, and their effective number.
func weigh(all []walker, power float64) (weights []float64, effective float64) {
	weights = make([]float64, len(all))
	for i, w := range all {
		weights[i] = power * w.likelihood
	}
	floats.AddConst(-floats.LogSumExp(weights), weights)
	for i, w := range weights {
		weights[i] = math.Exp(w)
	}
	return weights, 1 / floats.Dot(weights, weights)
}

// move proposes, equally likely, a value of one coordinate from its prior, or the
// difference of two other walkers in random coordinates, scaled as is best for a
// normal posterior (differential evolution, ter Braak, Statistics and Computing, 2006;
// Vrugt et al., 2009). This needs neither derivatives nor scales.
func (w *walker) move(all []walker, power float64, rows *evidence, prior []Gaussian, rng *rand.Rand) {
	y, priors := slices.Clone(w.x), 0.
	if i := rng.IntN(2 * len(y)); i < len(y) {
		y[i] = prior[i].Mean + prior[i].SD*rng.NormFloat64()
	} else {
		a, b := &all[rng.IntN(len(all))], &all[rng.IntN(len(all))]
		if a == b || a == w || b == w {
			return
		}
		in := rng.Uint64N(1<<min(len(y), 63)-1) + 1
		scale := 2.38 / math.Sqrt(2*float64(bits.OnesCount64(in)))
		for i := range y {
			if in>>(i%63)&1 == 1 {
				y[i] += scale * (a.x[i] - b.x[i])
				priors += prior[i].log(y[i]) - prior[i].log(w.x[i])
			}
		}
	}
	v := rows.logLikelihood(y)
	if math.Log(rng.Float64()) < power*(v-w.likelihood)+priors {
		w.x, w.likelihood = y, v
	}
}
