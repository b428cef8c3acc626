package bayesopt

import (
	"cmp"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// Prior is the prior of the hyperparameters: independent normals of ln ℓ and ln
// ν, and an inverse gamma of σ². The zero value suits logarithms of times as
// responses and inputs scaled to [0, 1].
type Prior struct {
	Noisy bool // measurements scatter by several per cent: ln ν ~ N(−3, 1) instead of N(−4, 1)
	// Effects says that inputs have effects of their own, ln ε ~ N(−4, 1). Unless Noisy,
	// there is noise then only if an input was observed twice.
	Effects bool
	Jumps   bool // half of the draws have a step at a random place of a random column, half of these a second one, up to three
	// Knobs are the columns of knobs that may change communication only, Sizes
	// those that communication grows with: RampShare of the draws have a [Ramp].
	Knobs, Sizes []int
	RampShare    float64
	// LengthSD is the standard deviation of ln ℓ; 0: the learned one.
	LengthSD float64
}

// Shape and scale of the inverse gamma prior of σ²: typically a third of a nat squared, as
// step times over a search space; with shape 1 a few measurements outweigh it.
const sigmaShape, sigmaScale = 1.0, 0.1

// A draw has at most maxJumps jumps, with ln ℓ ~ N(jumpLogLength, 1): the sides of a jump
// typically correlate by a seventh to a half.
const (
	maxJumps      = 3
	jumpLogLength = -0.5
)

// usualNugget is the prior mean of ln ε, and unless measurements are noisy of ln ν.
const usualNugget = -4

// draw returns hyperparameters drawn from the prior.
func (p Prior) draw(d int, rng *rand.Rand) Hyper {
	h := p.at(normals(d+1, rng))
	for p.Jumps && d > 0 && len(h.Jumps) < maxJumps && rng.Float64() < 0.5 {
		j := Jump{Column: rng.IntN(d), At: rng.Float64(), LogLength: jumpLogLength + rng.NormFloat64()}
		if j.Second = j.Column; rng.Float64() < 0.5 {
			j.Second = rng.IntN(d)
		}
		h.Jumps = append(h.Jumps, j)
	}
	if len(p.Knobs) > 0 && len(p.Sizes) > 0 && rng.Float64() < p.RampShare {
		h.Ramp = Ramp{Columns: p.Knobs, By: p.Sizes[rng.IntN(len(p.Sizes))]}
		if rng.Float64() < 0.5 { // else from the least size on
			h.Ramp.At = rng.Float64()
		}
	}
	if p.Effects {
		h.Effect = math.Exp(usualNugget + rng.NormFloat64())
	}
	return h
}

// FitGP conditions a Gaussian process on at least one observation with the hyperparameters
// of largest posterior density, σ² integrated out: the best of draws from the prior,
// improved by the Nelder-Mead simplex method. Numbers that are not finite are an error.
func FitGP(x [][]float64, y []float64, p Prior, seed int64) (*GP, error) {
	d, level := len(x[0]), stat.Mean(y, nil)
	loss := func(theta []float64) float64 {
		g, err := condition(x, y, nil, level, p.at(theta))
		if err != nil {
			return math.Inf(1)
		}
		return 0.5*floats.Dot(theta, theta) - g.marginalised(nil).logged
	}
	rng := NewRand(seed, len(y))
	best := make([]float64, d+1)
	for least, k := loss(best), 0; k < averageDraws; k++ {
		theta := normals(d+1, rng)
		if l := loss(theta); l < least {
			best, least = theta, l
		}
	}
	// an error comes with the best point so far
	result, _ := optimize.Minimize(optimize.Problem{Func: loss}, best, &optimize.Settings{FuncEvaluations: averageDraws}, &optimize.NelderMead{})
	if result != nil && !math.IsInf(result.F, 1) {
		best = result.X
	}
	g, err := condition(x, y, nil, level, p.at(best))
	if err == nil {
		g.marginalised(nil)
	}
	return g, err
}

// at returns the hyperparameters theta standard deviations from the prior means, of every
// ln ℓ and then of ln ν. The typical distance of two points, and with it the length scale,
// grows with √d (Hvarfner, Hellsten and Nardi 2024, section 4.1).
func (p Prior) at(theta []float64) Hyper {
	d := len(theta) - 1
	h := Hyper{LogLength: make([]float64, d), LogNugget: usualNugget}
	if p.Noisy {
		h.LogNugget = -3
	}
	for j := range d {
		h.LogLength[j] = 0.5*math.Log(float64(d)) + cmp.Or(p.LengthSD, LearnedConstants().LengthSD)*theta[j]
	}
	h.LogNugget += theta[d]
	return h
}

func normals(n int, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for j := range out {
		out[j] = rng.NormFloat64()
	}
	return out
}

// NewRand returns the random source of one decision, the same after a restart.
func NewRand(seed int64, trials int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15*uint64(trials+1)))
}

// Rand returns a random source for this decision.
func (p *Problem) Rand() *rand.Rand { return NewRand(p.Options.Seed, p.Trials) }

// QuasiRandom returns the n-th point of Halton's sequence in the unit cube of d
// dimensions, scrambled by the seed (Owen 2017).
func QuasiRandom(d int, seed int64, n int) []float64 {
	if d == 0 {
		return nil
	}
	points := mat.NewDense(n+1, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: NewRand(seed, 0)}.Sample(points)
	return points.RawRowView(n)
}
