package bayesopt

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// Prior is what is believed about the hyperparameters before any measurement:
// independent normal distributions of ln ℓ and ln ν, and an inverse gamma
// distribution of σ². The zero value is the default for responses that are
// logarithms of times and inputs scaled to [0, 1].
type Prior struct {
	Noisy bool // measurements scatter by several per cent: ln ν ~ N(−3, 1) instead of N(−4, 1)
	Exact bool // responses are computed, not measured: ln ν ~ N(−8, 1)
	// JumpChance is the probability of a step at a random place of a random
	// column, and of another after each; 0 means none.
	JumpChance float64
	// LengthSD is the standard deviation of ln ℓ; 0 means the learned one.
	LengthSD float64
}

// Shape and scale of the inverse gamma prior of σ². With scale 0.1 the typical
// standard deviation is a third of a nat, the spread of step times over a
// search space; shape 1 is so weak that a few measurements override it.
const sigmaShape, sigmaScale = 1.0, 0.1

// A draw has at most maxJumps jumps; their ln ℓ ~ N(jumpLogLength, 1), so that
// two sides of a jump are typically correlated by a seventh to a half.
const (
	maxJumps      = 3
	jumpLogLength = -0.5
)

// meanLogLength is the prior mean of every ln ℓ with d input columns. The
// typical distance of two points grows with √d, and the length scale with it
// (Hvarfner, Hellsten and Nardi 2024, section 4.1).
func (Prior) meanLogLength(d int) float64 { return 0.5 * math.Log(float64(max(d, 1))) }

func (p Prior) meanLogNugget() float64 {
	switch {
	case p.Noisy:
		return -3
	case p.Exact:
		return -8
	}
	return -4
}

func (p Prior) lengthSD() float64 {
	if p.LengthSD > 0 {
		return p.LengthSD
	}
	return LearnedConstants().LengthSD
}

// rough is the prior median of ρ. Without noise every input is measured once,
// so that ρ cannot be told from ν, which then stands for both.
func (p Prior) rough() float64 {
	if p.Noisy {
		return math.Exp(-4)
	}
	return 0
}

// centre returns the hyperparameters at the prior means.
func (p Prior) centre(d int) Hyper {
	h := Hyper{LogLength: make([]float64, d), LogSigma2: math.Log(sigmaScale), LogNugget: p.meanLogNugget(), Rough: p.rough()}
	for j := range h.LogLength {
		h.LogLength[j] = p.meanLogLength(d)
	}
	return h
}

// draw returns hyperparameters drawn from the prior; σ² is left at its mode.
func (p Prior) draw(d int, rng *rand.Rand) Hyper {
	h := p.centre(d)
	for j := range h.LogLength {
		h.LogLength[j] += p.lengthSD() * rng.NormFloat64()
	}
	h.LogNugget += rng.NormFloat64()
	if h.Rough > 0 {
		h.Rough *= math.Exp(rng.NormFloat64())
	}
	for d > 0 && len(h.Jumps) < maxJumps && rng.Float64() < p.JumpChance {
		h.Jumps = append(h.Jumps, Jump{Column: rng.IntN(d), At: rng.Float64(), LogLength: jumpLogLength + rng.NormFloat64()})
	}
	return h
}

// pack and unpack order the hyperparameters as (ln ℓ_1 … ln ℓ_d, ln σ², ln ν).
func (h Hyper) pack() []float64 {
	return append(append([]float64{}, h.LogLength...), h.LogSigma2, h.LogNugget)
}

func unpack(theta []float64) Hyper {
	d := len(theta) - 2
	return Hyper{LogLength: append([]float64{}, theta[:d]...), LogSigma2: theta[d], LogNugget: theta[d+1]}
}

// logPosterior returns the log marginal likelihood of the responses y plus the
// log prior at theta, up to a constant, and stores its gradient if grad is not
// nil (Rasmussen and Williams 2006, eq. 5.9). It is −Inf where the kernel
// matrix cannot be factorised.
func (p Prior) logPosterior(x [][]float64, y []float64, theta, grad []float64) float64 {
	h := unpack(theta)
	h.Rough = p.rough()
	g, err := condition(x, y, 0, h)
	if err != nil {
		for i := range grad {
			grad[i] = 0
		}
		return math.Inf(-1)
	}
	if grad != nil {
		g.likelihoodGradient(grad)
	}
	value := g.LogLikelihood()
	d := len(h.LogLength)
	for j, l := range h.LogLength {
		z := (l - p.meanLogLength(d)) / p.lengthSD()
		value -= 0.5 * z * z
		addTo(grad, j, -z/p.lengthSD())
	}
	// Inverse gamma density of σ², times the Jacobian of ln σ².
	inverse := sigmaScale * math.Exp(-h.LogSigma2)
	value -= sigmaShape*h.LogSigma2 + inverse
	addTo(grad, d, inverse-sigmaShape)
	z := h.LogNugget - p.meanLogNugget()
	value -= 0.5 * z * z
	addTo(grad, d+1, -z)
	return value
}

func addTo(v []float64, i int, x float64) {
	if v != nil {
		v[i] += x
	}
}

// likelihoodGradient stores ∂ ln p(y)/∂θ = ½·tr((ααᵀ − K⁻¹)·∂K/∂θ).
func (g *GP) likelihoodGradient(grad []float64) {
	n, d := len(g.y), len(g.hyper.LogLength)
	// K/σ² ⁻¹ and, in the last column, (K/σ²)⁻¹y.
	inv := mat.NewDense(n, n+1, nil)
	for i := range n {
		inv.Set(i, i, 1)
		inv.Set(i, n, g.y[i])
	}
	g.factor.Solve(inv.RawMatrix())
	for i := range grad {
		grad[i] = 0
	}
	grad[d] = 0.5*g.quad/g.sigma2 - 0.5*float64(n)
	nugget := math.Exp(g.hyper.LogNugget)
	for i := range n {
		// α of the unscaled matrix K is α/σ², K⁻¹ is inv/σ², and ∂K carries σ².
		alpha := inv.At(i, n)
		grad[d+1] += 0.5 * (alpha*alpha/g.sigma2 - inv.At(i, i)) * nugget
		for k := range i {
			w := alpha*inv.At(k, n)/g.sigma2 - inv.At(i, k)
			r := distance(g.x[i], g.x[k])
			// ∂m/∂ ln ℓ_j = ⅓·(1 + r)·e^−r·5·(Δ_j/ℓ_j)²; each pair counts twice.
			f := w * (1 + r) * math.Exp(-r) / 3
			for j := range d {
				delta := g.x[i][j] - g.x[k][j]
				grad[j] += f * delta * delta
			}
		}
	}
}

// FitGP conditions a Gaussian process on the observations with the
// hyperparameters of largest posterior density (MAP; ρ stays at its median),
// found by L-BFGS from the prior mean and starts−1 draws from the prior. A start that fails is passed
// over; if all do, the prior means are used. Errors are those of [NewGP].
func FitGP(x [][]float64, y []float64, p Prior, starts int, seed int64) (*GP, error) {
	if len(x) == 0 {
		return nil, checkObservations(x, y, 0)
	}
	d := len(x[0])
	if err := checkObservations(x, y, d); err != nil {
		return nil, err
	}
	level := mean(y)
	centred := make([]float64, len(y))
	for i := range y {
		centred[i] = y[i] - level
	}
	rng := NewRand(seed, len(y))
	best, bestValue := p.centre(d), math.Inf(-1)
	for s := range max(starts, 1) {
		start := p.centre(d)
		if s > 0 {
			start = p.draw(d, rng)
			start.Rough = p.rough()
		}
		h, value := p.climb(x, centred, start)
		if value > bestValue {
			best, bestValue = h, value
		}
	}
	return condition(x, y, level, best)
}

// climb improves the hyperparameters from one start. The value is −Inf if the
// start is unusable.
func (p Prior) climb(x [][]float64, y []float64, start Hyper) (Hyper, float64) {
	problem := optimize.Problem{
		Func: func(t []float64) float64 { return -p.logPosterior(x, y, t, nil) },
		Grad: func(grad, t []float64) {
			p.logPosterior(x, y, t, grad)
			for i := range grad {
				grad[i] = -grad[i]
			}
		},
	}
	theta := start.pack()
	if math.IsInf(problem.Func(theta), 0) {
		return start, math.Inf(-1)
	}
	settings := &optimize.Settings{MajorIterations: 50, FuncEvaluations: 120, GradientThreshold: 1e-4,
		Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 3}}
	// A line search that cannot go on reports an error together with the best
	// point so far, which is still an improvement on the start.
	result, _ := optimize.Minimize(problem, theta, settings, &optimize.LBFGS{})
	if result == nil || math.IsNaN(result.F) || math.IsInf(result.F, 0) {
		return start, math.Inf(-1)
	}
	best := unpack(result.X)
	best.Rough = start.Rough
	return best, -result.F
}

// NewRand returns the random source of one decision. Deriving it from the seed
// and the number of trials, and not from how many draws were made before,
// makes a resumed study continue as if it had never been interrupted.
func NewRand(seed int64, trials int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15*uint64(trials+1)))
}
