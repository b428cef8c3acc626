package policy

import (
	"math"

	"knee/allocate"
	"knee/allocate/solve"
)

// pollux maximises the power mean, of exponent −1, of the speed-ups of all jobs over an equal
// share of the cluster, a job that would be moved discounted by max(age − restarts·δ, 0)/(age
// + δ) (Qiao et al., OSDI 2021, section 4.2, equations 14 and 16). Simplified, see
// docs/policies.md.
func pollux(s allocate.State) (allocate.Assignment, error) {
	const starved = 1e-3 // keeps the mean above zero if a job waits, as in the published program
	share := max(1, s.Cluster.Slots()/max(1, len(s.Jobs)))
	return solve.Best(s, func(i, n int) float64 {
		j, fair := &s.Jobs[i], 0.0
		for _, o := range j.Options {
			if o.Use.GPUs <= share || fair == 0 {
				fair = math.Max(fair, o.Answer.Goodput.Mean)
			}
		}
		if fair <= 0 {
			return 0
		}
		x := j.Options[n].Answer.Goodput.Mean / fair * agedRestart(s, j, n)
		return 1/starved - 1/(x+starved)
	})
}

// agedRestart is the published discount of a change of allocation.
func agedRestart(s allocate.State, j *allocate.JobState, n int) float64 {
	age, delta := s.Now-j.Submitted, j.History.Restart
	if j.Current < 0 || keeps(j, n) || age+delta <= 0 {
		return 1
	}
	return math.Max(age-float64(j.History.Restarts)*delta, 0) / (age + delta)
}
