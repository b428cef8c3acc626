package objective

import "math"

// nash is proportional fairness (Nash welfare): the weighted sum of the logarithms of every
// job's speed relative to its fair share. A resource moves only to a job that gains by a
// larger factor than the other loses. Themis (Mahajan et al., NSDI 2020, section 5) maximises
// the same by an auction, with leases, which are not modelled. The plan shows the weighted
// geometric mean; 1: every job has the speed of an equal share.
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

// waiting is the relative speed of a waiting job: so low that starting a job is worth more
// than any growth of another.
const waiting = 1e-6
