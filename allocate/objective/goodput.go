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
type powerMean struct{}

// starved is ε: what keeps the mean of a cluster with a waiting job above
// zero. The value is that of the published implementation.
const starved = 1e-3

// Name implements [Objective].
func (powerMean) Name() string { return "goodput" }

// Value implements [Objective].
func (powerMean) Value(s Subject, o Outcome) float64 {
	return -s.Weight() / (o.kept()*s.toFair(o) + starved)
}

// Idle implements [Objective].
func (powerMean) Idle(s Subject) float64 { return -s.Weight() / starved }

// Report implements [Objective]: the power mean itself.
func (powerMean) Report(sum float64, subjects []Subject) float64 {
	var w float64
	for _, s := range subjects {
		w += s.Weight()
	}
	if sum >= 0 {
		return math.Inf(1)
	}
	return -w/sum - starved
}

// toFair is the speed of an outcome relative to the fair share.
func (s Subject) toFair(o Outcome) float64 {
	if s.Fair <= 0 {
		return s.relative(o)
	}
	return s.Speed(o.Answer) / s.Fair
}
