package objective

import "math"

// powerMean is the objective of Pollux (Qiao et al., OSDI 2021, equation
// 14): the weighted power mean, with exponent −1, of every job's goodput
// relative to that of an equal share of the cluster,
//
//	(Σ w_i) / Σ w_i / (x_i + ε),   x_i = goodput_i(c_i) / goodput_i(fair share)
//
// The exponent makes a job that gets little count much, so the mean rises by
// helping the worst off. The sum below it is what the knapsack sees.
var powerMean = definition{
	value: func(s Subject, o Outcome) float64 { return -s.Weight() / (s.toFair(o) + starved) },
	idle:  func(s Subject) float64 { return -s.Weight() / starved },
	report: func(sum, weights float64) float64 {
		if sum >= 0 {
			return math.Inf(1)
		}
		return -weights/sum - starved
	},
}

// starved is ε: what keeps the mean of a cluster with a waiting job above
// zero. The value is that of the published implementation.
const starved = 1e-3
