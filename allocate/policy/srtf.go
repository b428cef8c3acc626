package policy

import (
	"math"

	"knee/allocate"
)

// SRTF serves the job of shortest remaining time first, each with the gang
// it asked for, and preempts: at every decision all jobs compete anew. Jobs
// that do not fit are passed over, so it backfills. The remaining time is
// the predicted one at that gang; jobs of unknown work come last.
type SRTF struct{}

// Allocate implements [allocate.Policy].
func (SRTF) Allocate(s allocate.State) (allocate.Assignment, error) {
	return inOrder(s, shortestFirst, false)
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
