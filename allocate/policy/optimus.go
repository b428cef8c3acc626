package policy

import (
	"cmp"
	"math"

	"knee/allocate"
	"knee/allocate/solve"
	"knee/internal/list"
)

// optimus gives one worker after the other to the job whose predicted remaining time falls
// most per share of its dominant resource (Peng et al., EuroSys 2018, section 4.1), every
// job starting with its smallest option. As in the paper restarts are not counted. A job of
// unknown length counts as half an hour. optimus-greedy applies the same steps to the
// objective of a plan. Simplified, see docs/policies.md.
func optimus(s allocate.State) (allocate.Assignment, error) {
	const first = 1e9 // seconds; starting a job beats any growth of another
	base := list.Map(s.Jobs, func(j allocate.JobState) float64 { return smallest(&j) })
	return solve.Greedy(s, func(i, n int) float64 {
		if g := s.Jobs[i].Options[n].Answer.Goodput.Mean; base[i] > 0 && g > 0 {
			return first + cmp.Or(math.Max(0, s.Jobs[i].Remaining), unknownWork)*(1-base[i]/g)
		}
		return 0
	})
}
