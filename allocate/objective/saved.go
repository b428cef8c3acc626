package objective

import "math"

// savedTime is the objective of Optimus (Peng et al., EuroSys 2018, equation 5): minimise the
// weighted sum of the remaining times, Σ w_i·Q_i/f_i, which minimises that of completion
// times if the plan is kept to the end. Where plans are repeated [jct] is better.
var savedTime = Objective{
	Value: func(s Subject, o Outcome) float64 {
		return -s.Weight() * math.Min(math.Max(0, o.Restart)+s.remaining(o.Answer), longestWait)
	},
	Idle: func(s Subject) float64 { return -2 * s.Weight() * longestWait },
}

// longestWait is the remaining time of an idle job, in seconds: a year, so that starting
// a job is worth more than any growth of another.
const longestWait = 365 * 86400
