package policy

import (
	"knee/allocate"
)

// Gandiva time-slices when there are too few GPUs and grows jobs when there
// are too many (Xiao et al., OSDI 2018, sections 3.1 and 3.4): the job that
// has run least comes first, each with the gang it asked for; what is left
// goes, step by step, to the job whose measured speed rises most per GPU, and
// is taken back first when others come.
//
// Approximated: slices are decisions, which here cost a restart where a job
// is stopped, not a suspend of a second; packing two jobs on one GPU is not
// modelled, as nobody measured it.
type Gandiva struct{}

// Allocate implements [allocate.Policy].
func (Gandiva) Allocate(s allocate.State) (allocate.Assignment, error) {
	a, err := inOrder(s, func(j *allocate.JobState) key { return key{j.History.Ran} }, false)
	if err != nil {
		return a, err
	}
	grow(s, a.Choice)
	return a, nil
}

// grow raises choices while GPUs are left, each time the one whose relative
// speed rises most per GPU.
func grow(s allocate.State, choice []int) {
	for {
		job, option, best := -1, -1, 0.0
		for i, c := range choice {
			if c < 0 {
				continue
			}
			now := &s.Jobs[i].Options[c]
			for n := range s.Jobs[i].Options {
				o := &s.Jobs[i].Options[n]
				more := o.Use.GPUs - now.Use.GPUs
				if more <= 0 || o.Use.GPUType != now.Use.GPUType || now.Answer.Goodput.Mean <= 0 {
					continue
				}
				gain := (o.Answer.Goodput.Mean/now.Answer.Goodput.Mean - 1) / float64(more)
				if gain <= best || !fitsWith(s, choice, i, n) {
					continue
				}
				job, option, best = i, n, gain
			}
		}
		if job < 0 {
			return
		}
		choice[job] = option
	}
}

// fitsWith reports whether job i may have option n beside the others.
func fitsWith(s allocate.State, choice []int, i, n int) bool {
	was := choice[i]
	choice[i] = n
	ok := (allocate.Assignment{Choice: choice}).Check(s) == nil
	choice[i] = was
	return ok
}
