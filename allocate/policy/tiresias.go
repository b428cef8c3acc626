package policy

import (
	"math"
	"slices"

	"knee/allocate"
)

// queueLimits are the attained service, in GPU-seconds, that separate the
// queues of [Tiresias], as in its published simulator.
var queueLimits = [...]float64{3250, 7200}

// Tiresias is discretized two-dimensional scheduling (Gu et al., NSDI 2019,
// section 3): jobs sink through three queues as the GPU time they have had
// grows, and are served by queue, then in order of submission; with Gittins,
// within a queue by the Gittins index. Gangs that do not fit are passed over,
// everyone competes anew at every decision.
//
// Approximated: jobs sink at decisions only, and are never promoted. The
// index takes the distribution of GPU times from the jobs that are present,
// what they have had plus what they are predicted to need, as a policy has
// no memory of those that left.
type Tiresias struct{ Gittins bool }

// Allocate implements [allocate.Policy].
func (t Tiresias) Allocate(s allocate.State) (allocate.Assignment, error) {
	var service []float64
	if t.Gittins {
		service = services(s)
	}
	return inOrder(s, func(j *allocate.JobState) key {
		level := 0.0
		for _, l := range queueLimits {
			if j.Attained >= l {
				level++
			}
		}
		if t.Gittins {
			return key{level, -gittins(service, j.Attained, queueLimits[0])}
		}
		return key{level, j.Submitted}
	}, false)
}

// services are the GPU-seconds that the jobs are thought to need in all,
// sorted.
func services(s allocate.State) []float64 {
	var out []float64
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if t := remaining(j); !math.IsInf(t, 1) {
			out = append(out, j.Attained+t*size(j))
		}
	}
	slices.Sort(out)
	return out
}

// gittins is the index of a job that has attained a service: the chance that
// it is done within the next quantum over the service that is expected to
// take (section 3.2).
func gittins(service []float64, attained, quantum float64) float64 {
	i, _ := slices.BinarySearch(service, attained)
	rest := service[i:]
	if len(rest) == 0 {
		return 0
	}
	var done, expected float64
	for _, d := range rest {
		if d <= attained+quantum {
			done++
		}
		expected += math.Min(d-attained, quantum)
	}
	if expected <= 0 {
		return math.MaxFloat64
	}
	return done / expected
}
