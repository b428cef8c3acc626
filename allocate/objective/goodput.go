package objective

import "math"

// powerMean is the objective of Pollux (Qiao et al., OSDI 2021, equation 14): the weighted
// power mean, with exponent −1, of every job's goodput relative to that of an equal share of
// the cluster,
//
//	(Σ w_i) / Σ w_i / (x_i + ε),   x_i = goodput_i(c_i) / goodput_i(fair share)
//
// The slowest jobs have the largest effect. The knapsack uses the sum in the denominator.
var powerMean = Objective{
	Value: func(s Subject, o Outcome) float64 { return -s.Weight() / (s.toFair(o) + starved) },
	Idle:  func(s Subject) float64 { return -s.Weight() / starved },
	report: func(sum, weights float64) float64 {
		if sum >= 0 {
			return math.Inf(1)
		}
		return -weights/sum - starved
	},
}

// starved is ε of the published implementation: it keeps the mean above zero if a job waits.
const starved = 1e-3
