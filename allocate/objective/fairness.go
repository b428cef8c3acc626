package objective

import "math"

// nash is proportional fairness (Nash welfare): the weighted sum of the
// logarithms of every job's speed relative to its fair share. Moving a
// resource pays only if the job that gets it gains by a larger factor than the
// other loses. Themis (Mahajan et al., NSDI 2020, section 5) maximises the same
// when jobs bid for free GPUs: the product of their improvements. Its auction and
// leases are not modelled. The plan shows the weighted geometric mean of the speeds
// relative to the fair share; 1 means that every job has the speed of an equal
// share.
var nash = Objective{
	Value: func(s Subject, o Outcome) float64 { return s.Weight() * math.Log(math.Max(s.toFair(o), waiting)) },
	Idle:  func(s Subject) float64 { return s.Weight() * math.Log(waiting) },
	report: func(sum, weights float64) float64 {
		if weights <= 0 {
			return 1
		}
		return math.Exp(sum / weights)
	},
}

// waiting is the relative speed of a waiting job: its logarithm must be finite,
// and so low that starting a job is worth more than any growth of another.
const waiting = 1e-6
