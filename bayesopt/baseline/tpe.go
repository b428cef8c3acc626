package baseline

import (
	"math"
	"slices"

	"knee/bayesopt"
)

// Parameters of the estimator (Bergstra et al. 2011, section 4; Bergstra,
// Yamins and Cox 2013): trials before it is used, the share of good ones, and
// the candidates it draws.
const (
	tpeStart = 10
	tpeGood  = 0.15
	tpeDraws = 24
)

// tpe is the tree-structured Parzen estimator on a finite table: of candidates
// drawn from what is left in proportion to how good ones lie, l(x), that with
// the largest l(x)/g(x). Densities are products over the features of mixtures of
// normal distributions about the trials and of the uniform one.
func tpe(p *bayesopt.Problem) (int, string, string, error) {
	x, y := p.Objectives()
	if p.Trials() < tpeStart || p.Successes() == 0 {
		return random(p)
	}
	cut := slices.Sorted(slices.Values(y))[int(math.Ceil(tpeGood*float64(len(y))))-1]
	var good, bad [][]float64
	for k := range x {
		if y[k] <= cut && len(good) < len(y)-1 {
			good = append(good, x[k])
		} else {
			bad = append(bad, x[k])
		}
	}
	left, rng := p.Open(), p.Rand()
	weight := make([]float64, len(left))
	var total float64
	for k, i := range left {
		weight[k] = math.Exp(parzen(good, p.Point(i)))
		total += weight[k]
	}
	scores := make([]float64, len(left))
	for k := range scores {
		scores[k] = math.Inf(-1)
	}
	for range tpeDraws {
		u, k := rng.Float64()*total, 0
		for ; k < len(left)-1 && u >= weight[k]; k++ {
			u -= weight[k]
		}
		scores[k] = parzen(good, p.Point(left[k])) - parzen(bad, p.Point(left[k]))
	}
	return left[p.Best(left, scores)], "largest ratio of the densities of good and bad trials", "", nil
}

// parzen returns the log density at a point, up to a constant.
func parzen(centres [][]float64, at []float64) float64 {
	width := max(0.05, 1/float64(1+len(centres))) // of the unit interval
	var sum float64
	for j, v := range at {
		density := 1.0 // the uniform prior counts as one trial
		for _, c := range centres {
			z := (v - c[j]) / width
			density += math.Exp(-0.5*z*z) / (width * math.Sqrt(2*math.Pi))
		}
		sum += math.Log(density / float64(1+len(centres)))
	}
	return sum
}
