package policy

import "knee/allocate"

// reconfigures is the least share of its running time that a job must keep beside restarts.
const reconfigures = 0.97

// rubick gives GPUs to the jobs whose speed gains most from them, the best layout of every
// size being that of the option (Zhang et al., MLSys 2025, section 5): every job, by
// submission, its smallest option; then always the step of the steepest sensitivity curve:
// speed relative to that of the requested size. A running job keeps its GPUs unless
// (T − N·δ)/T ≥ 0.97, where T is the seconds it has run, N its restarts with this one, δ the
// seconds of each. Simplified, see docs/policies.md.
func rubick(q *queue) {
	s := q.state
	held := make([]bool, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		lost := float64(j.History.Restarts+1) * j.History.Restart
		if j.Current >= 0 && j.History.Ran-lost < reconfigures*j.History.Ran {
			held[i] = q.try(i, j.Current)
		}
	}
	for _, i := range sorted(s, submitted) {
		if j := &s.Jobs[i]; !held[i] && len(j.Options) > 0 {
			q.first(i, ofSize(j, j.Options[allocate.Narrowest(j.Options)].Use.GPUs))
		}
	}
	q.grow(func(i int) bool { return !held[i] }, func(j *allocate.JobState, now, then *allocate.Option) float64 {
		rise, more := then.Answer.Goodput.Mean-now.Answer.Goodput.Mean, float64(then.Use.GPUs-now.Use.GPUs)
		return rise / more / j.Options[gang(j)[0]].Answer.Goodput.Mean
	})
}
