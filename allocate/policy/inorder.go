package policy

import (
	"cmp"
	"math"

	"knee/allocate"
)

// fifo serves jobs by submission, with the gang they asked for, without preemption. The
// first that does not fit blocks those after it.
func fifo(q *queue) {
	q.keep()
	for _, i := range sorted(q.state, submitted) {
		if j := &q.state.Jobs[i]; q.choice[i] < 0 && !q.serve(i) && j.Current < 0 && len(j.Options) > 0 {
			break
		}
	}
}

// fifoBackfill is [fifo], but jobs after one that does not fit may start.
func fifoBackfill(q *queue) {
	q.keep()
	q.fill(submitted)
}

// sjf starts the job of the shortest predicted time first, and lets it run to its end. Jobs
// of unknown length come last.
func sjf(q *queue) {
	q.keep()
	q.fill(shortestFirst)
}

// srtf is [sjf] with preemption: at every decision all jobs compete anew.
func srtf(q *queue) { q.fill(shortestFirst) }

// elas is E-LAS (Sultana, Chen, Xu and Yuan, ICPP 2020): the job of the smallest GPU time ×
// (1 − done share of its declared epochs) comes first, so that a job near its end is not
// delayed for the GPU time it has had. It needs no durations; all jobs compete at every
// decision. Simplified: no switching of sizes by profit.
func elas(q *queue) {
	q.fill(func(j *allocate.JobState) key { return key{j.Attained * (1 - j.History.Progress)} })
}

func shortestFirst(j *allocate.JobState) key { return key{remaining(j)} }

// timeLeft is [remaining] with a length assumed where it is not known.
func timeLeft(j *allocate.JobState) float64 {
	if t := remaining(j); !math.IsInf(t, 1) {
		return t
	}
	return unknownWork
}

// remaining is the time left with the fastest gang of the requested size, +Inf if it is
// not known.
func remaining(j *allocate.JobState) float64 {
	t := 0.0
	if g := gang(j); len(g) > 0 {
		t = max(0, j.Options[g[0]].Answer.TimeToTarget.Mean)
	}
	return allocate.Unlimited(cmp.Or(t, j.Remaining))
}

// optionTime is the seconds a job still needs on an option.
func optionTime(j *allocate.JobState, n int) float64 {
	if t := j.Options[n].Answer.TimeToTarget.Mean; t > 0 {
		return t
	}
	if g := j.Options[n].Answer.Goodput.Mean; g > 0 {
		return unknownWork * smallest(j) / g
	}
	return unknownWork
}
