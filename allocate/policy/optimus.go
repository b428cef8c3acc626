package policy

import (
	"knee/allocate"
	"knee/allocate/solve"
)

// Optimus gives one worker after the other to the job whose predicted
// remaining time falls most per share of its dominant resource (Peng et al.,
// EuroSys 2018, section 4.1), every job starting with its smallest option.
// It follows the paper's objective, the sum of remaining times, in contrast
// to optimus-greedy, which applies the same steps to the objective of a plan.
// Restarts are not counted, as in the paper, nor are speeds it cannot know
// made up: a job of unknown length counts as half an hour.
type Optimus struct{}

// Allocate implements [allocate.Policy].
func (Optimus) Allocate(s allocate.State) (allocate.Assignment, error) {
	const first = 1e9 // seconds; starting a job beats any growth of another
	jobs := make([]allocate.JobState, len(s.Jobs))
	for i, j := range s.Jobs {
		base, t := (Knee{}).smallest(j), j.Remaining
		if t <= 0 {
			t = unknownWork
		}
		options := make([]allocate.Option, len(j.Options))
		for n, o := range j.Options {
			options[n] = o
			options[n].Value = 0
			if g := o.Answer.Goodput.Mean; base > 0 && g > 0 {
				options[n].Value = first + t*(1-base/g)
			}
		}
		j.Options, j.Idle = options, 0
		jobs[i] = j
	}
	s.Jobs = jobs
	return solve.MarginalGain{Greedy: true}.Allocate(s)
}
