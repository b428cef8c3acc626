package objective

import "math"

// nash is proportional fairness (Nash welfare): the weighted sum of the
// logarithms of every job's speed relative to its fair share. Moving a
// resource is worth it only if the one who gains, gains by a larger factor
// than the one who loses. It is what Themis (Mahajan et al., NSDI 2020,
// section 5) maximises when jobs bid for free GPUs: the product of their
// improvements. The auction and its leases are not modelled. The plan shows the
// weighted geometric mean of the speeds relative to the fair share; 1 means that
// everyone has what an equal share would give.
var nash = definition{
	value: func(s Subject, o Outcome) float64 { return s.Weight() * math.Log(math.Max(s.toFair(o), waiting)) },
	idle:  func(s Subject) float64 { return s.Weight() * math.Log(waiting) },
	report: func(sum, weights float64) float64 {
		if weights <= 0 {
			return 1
		}
		return math.Exp(sum / weights)
	},
}

// waiting is the relative speed that a waiting job is taken to have: its
// logarithm must be finite, and low enough that starting a job beats any
// growth of another.
const waiting = 1e-6
