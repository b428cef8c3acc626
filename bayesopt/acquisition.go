package bayesopt

import "math"

// Predictive is the posterior of one candidate's response: a mixture of normal
// distributions, one per set of hyperparameters. The slices have equal length
// and the weights sum to one.
type Predictive struct {
	Mean, SD, Weight []float64
}

// Average returns ln of the mixture's mean of e^score, so that improvements and
// probabilities are averaged, not their logarithms.
func (p Predictive) Average(score func(mean, sd, best float64) float64, best float64) float64 {
	top, sum := math.Inf(-1), 0.0
	for i, w := range p.Weight {
		s := score(p.Mean[i], p.SD[i], best) + math.Log(w)
		switch {
		case math.IsInf(s, -1):
		case s > top:
			sum, top = sum*math.Exp(top-s)+1, s
		default:
			sum += math.Exp(s - top)
		}
	}
	return top + math.Log(max(sum, 1))
}

// Moments returns the mean and standard deviation of the mixture.
func (p Predictive) Moments() (mean, sd float64) {
	for i, w := range p.Weight {
		mean += w * p.Mean[i]
	}
	var v float64
	for i, w := range p.Weight {
		d := p.Mean[i] - mean
		v += w * (p.SD[i]*p.SD[i] + d*d)
	}
	return mean, math.Sqrt(v)
}

// Below returns P(response < y).
func (p Predictive) Below(y float64) float64 {
	var sum float64
	for i, w := range p.Weight {
		sum += w * normalCDF((y-p.Mean[i])/max(p.SD[i], 1e-12))
	}
	return sum
}

// Quantile returns the q-quantile of the response, 0 < q < 1, by bisection.
func (p Predictive) Quantile(q float64) float64 {
	m, s := p.Moments()
	lo, hi := m-10*s-1e-12, m+10*s+1e-12
	for range 60 {
		mid := 0.5 * (lo + hi)
		if p.Below(mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return 0.5 * (lo + hi)
}
