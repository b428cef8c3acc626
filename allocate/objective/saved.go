package objective

import "math"

// savedTime is the objective of Optimus (Peng et al., EuroSys 2018, equation
// 5): the weighted sum of the times the jobs still need, Σ w_i·Q_i/f_i, made
// small. It makes the sum of completion times smallest if the plan is the
// last one and held to the end; where jobs come and go and plans are made
// anew, jct does better, for the reason it gives.
var savedTime = definition{
	value: func(s Subject, o Outcome) float64 {
		return -s.Weight() * math.Min(math.Max(0, o.Restart)+s.remaining(o.Answer), longestWait)
	},
	idle: func(s Subject) float64 { return -2 * s.Weight() * longestWait },
}

// longestWait is the time, in seconds, that a job left idle is taken to
// need: a year, so that starting a job beats any growth of another.
const longestWait = 365 * 86400
