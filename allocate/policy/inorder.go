package policy

import (
	"math"

	"knee/allocate"
)

// fifo serves jobs in order of submission, with the gang they asked for, without
// preemption. The first job that does not fit blocks the jobs after it.
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

// sjf starts the job of the shortest predicted time first, and lets it run to its
// end. Jobs that do not fit are passed over; jobs of unknown length come last.
func sjf(q *queue) {
	q.keep()
	q.fill(shortestFirst)
}

// srtf serves the job of shortest remaining time first, each with the gang
// it asked for, and preempts: at every decision all jobs compete anew. Jobs
// that do not fit are passed over; jobs of unknown length come last.
func srtf(q *queue) { q.fill(shortestFirst) }

// elas is E-LAS (Sultana, Chen, Xu and Yuan, ICPP 2020): least attained
// service scaled by progress. The job of the smallest GPU time × (1 − done share of
// its declared epochs) comes first, so that a job near its end is not delayed for
// the GPU time it has had. It needs no durations. Gangs that do not fit are passed
// over; all jobs compete again at every decision. The paper's profit-based
// switching of sizes is not modelled.
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

// remaining is the time left with the fastest gang of the requested size.
func remaining(j *allocate.JobState) float64 {
	if g := gang(j); len(g) > 0 {
		if t := j.Options[g[0]].Answer.TimeToTarget.Mean; t > 0 {
			return t
		}
	}
	if j.Remaining > 0 {
		return j.Remaining
	}
	return math.Inf(1)
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
