package baseline

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"knee/bayesopt"
	"knee/internal/list"
)

// surrogate predicts the standardised objective; smaller is better.
type surrogate interface {
	// Predict returns mean and variance at a point of the unit cube.
	Predict(x []float64) (mean, variance float64)
	// Sample draws one function from the posterior and returns its values at the points.
	Sample(points [][]float64, rng *rand.Rand) []float64
}

// fitter fits a surrogate to points and standardised objectives.
type fitter func(x [][]float64, y []float64, p *bayesopt.Problem) (surrogate, error)

// surrogates returns the models of the objective, with point estimates of their parameters.
func surrogates() map[string]fitter {
	return map[string]fitter{
		"gp": func(x [][]float64, y []float64, p *bayesopt.Problem) (surrogate, error) {
			return bayesopt.FitGP(x, y, bayesopt.Prior{Noisy: p.Options.Noisy}, p.Options.Seed)
		},
		"forest": func(x [][]float64, y []float64, p *bayesopt.Problem) (surrogate, error) {
			return newForest(x, y, p.Rand()), nil
		},
	}
}

// start is the number of trials before a model decides (CherryPick, section 4.2).
const start = 3

// acquisition scores open candidates, given the best value so far.
type acquisition func(s surrogate, points [][]float64, best float64, rng *rand.Rand) []float64

// acquisitions returns expected improvement; probability of improvement (Kushner 1964), as
// standard deviations; the lower confidence bound (Srinivas et al. 2010, section 3) with
// factor two; and one draw from the posterior.
func acquisitions() map[string]acquisition {
	return map[string]acquisition{
		"ei":       each(bayesopt.LogEI),
		"pi":       each(func(mean, sd, best float64) float64 { return (best - mean) / max(sd, 1e-12) }),
		"lcb":      each(lowerBound),
		"thompson": thompson,
	}
}

// each scores every candidate by its own prediction.
func each(score func(mean, sd, best float64) float64) acquisition {
	return func(s surrogate, points [][]float64, best float64, _ *rand.Rand) []float64 {
		out := make([]float64, len(points))
		for k, x := range points {
			m, v := s.Predict(x)
			out[k] = score(m, math.Sqrt(v), best)
		}
		return out
	}
}

func lowerBound(mean, sd, _ float64) float64 { return 2*sd - mean }

// thompsonPoints of smallest lower confidence bound are drawn jointly: the cost is cubic.
const thompsonPoints = 256

func thompson(s surrogate, points [][]float64, best float64, rng *rand.Rand) []float64 {
	out := each(lowerBound)(s, points, best, rng)
	limit := slices.Sorted(slices.Values(out))[max(0, len(out)-thompsonPoints)]
	var drawn []int
	var at [][]float64
	for k, b := range out {
		if b >= limit {
			drawn, at = append(drawn, k), append(at, points[k])
		}
		out[k] = math.Inf(-1)
	}
	for k, v := range s.Sample(at, rng) {
		out[drawn[k]] = -v
	}
	return out
}

// pair is standard Bayesian optimisation (Snoek, Larochelle and Adams 2012): a surrogate of
// the objective, not its logarithm, and an acquisition function. The forest with expected
// improvement is the idea of SMAC (Hutter, Hoos and Leyton-Brown 2011).
type pair struct {
	fit   fitter
	score acquisition
}

func (c pair) pick(p *bayesopt.Problem) (int, string, string, error) {
	if p.Trials < start || p.Successes == 0 {
		return random(p)
	}
	i, _, err := c.best(p)
	return i, "best by the acquisition function", "", err
}

// best returns the open candidate of the highest score, and the score minus ln of the best
// objective's magnitude, in standard deviations.
func (c pair) best(p *bayesopt.Problem) (pick int, score float64, err error) {
	x, y := p.Objectives()
	level, sd := stat.PopMeanStdDev(y, nil)
	if !(sd > 0) {
		sd = 1
	}
	for i := range y {
		y[i] = (y[i] - level) / sd
	}
	s, err := c.fit(x, y, p)
	if err != nil {
		return 0, 0, err
	}
	left := p.Open()
	points := list.Map(left, func(i int) []float64 { return p.Points[i] })
	best := slices.Min(y)
	scores := c.score(s, points, best, p.Rand())
	k := p.Best(left, scores)
	return left[k], scores[k] - math.Log(math.Abs(level/sd+best)), nil
}
