package policy

import "knee/allocate"

// Rubick gives GPUs to the jobs whose speed gains most from them, the best
// layout of every size being that of the option (Zhang et al., MLSys 2025,
// section 5): every job, in order of submission, its smallest option; then
// always the step of the steepest sensitivity curve, which is speed relative to
// that as it was asked for. A job that runs keeps what it has unless
// (T − N·δ)/T ≥ 0.97: T the seconds it has run, N its restarts with this one,
// δ the seconds of each.
//
// Simplified: jobs are best-effort, none has a guaranteed minimum above its
// smallest option; CPUs are not divided.
type Rubick struct{}

// reconfigures is the least share of its running time that a job must keep
// beside its restarts.
const reconfigures = 0.97

// Allocate implements [allocate.Policy].
func (Rubick) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	held := make([]bool, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		lost := float64(j.History.Restarts+1) * j.History.Restart
		if j.Current >= 0 && j.History.Ran-lost < reconfigures*j.History.Ran {
			held[i] = q.try(i, j.Current)
		}
	}
	for _, i := range sorted(s, func(j *allocate.JobState) key { return key{j.Submitted} }) {
		if j := &s.Jobs[i]; !held[i] && len(j.Options) > 0 {
			q.try(i, narrowest(j))
		}
	}
	for {
		job, option, steepest := -1, -1, 0.0
		for i, n := range q.choice {
			if n < 0 || held[i] {
				continue
			}
			j := &s.Jobs[i]
			now, asked := &j.Options[n], j.Options[gang(j)[0]].Answer.Goodput.Mean
			for m := range j.Options {
				o := &j.Options[m]
				more := float64(o.Use.GPUs - now.Use.GPUs)
				slope := (o.Answer.Goodput.Mean - now.Answer.Goodput.Mean) / more / asked
				if more > 0 && slope > steepest && o.Use.GPUType == now.Use.GPUType && q.try(i, m) {
					q.try(i, n) // only asked whether it fits
					job, option, steepest = i, m, slope
				}
			}
		}
		if job < 0 {
			return q.assignment(), nil
		}
		q.try(job, option)
	}
}

// narrowest is the option of fewest GPUs, the fastest of those.
func narrowest(j *allocate.JobState) int {
	best := 0
	for n := range j.Options {
		a, b := &j.Options[n], &j.Options[best]
		if a.Use.GPUs < b.Use.GPUs || a.Use.GPUs == b.Use.GPUs && a.Answer.Goodput.Mean > b.Answer.Goodput.Mean {
			best = n
		}
	}
	return best
}
