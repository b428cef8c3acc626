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
// within a queue by the Gittins index. Gangs that do not fit are passed over.
// It asks to be called when the next job sinks. The index takes the distribution of GPU
// times from the jobs that are present, what they have had plus what they are predicted to
// need. Simplified, see docs/policies.md.
type Tiresias struct{ Gittins bool }

// Allocate implements [allocate.Policy].
func (t Tiresias) Allocate(s allocate.State) (allocate.Assignment, error) {
	var service []float64
	if t.Gittins {
		service = services(s)
	}
	q := newQueue(s)
	q.fill(func(j *allocate.JobState) key {
		if t.Gittins {
			return key{float64(queueOf(j.Attained)), -gittins(service, j.Attained, queueLimits[0])}
		}
		return key{float64(queueOf(j.Attained)), j.Submitted}
	})
	q.wake = math.Inf(1) // when the first running job sinks into another queue
	for i := range s.Jobs {
		attained := s.Jobs[i].Attained
		if at, use := queueOf(attained), q.use(i); use != nil && at < len(queueLimits) {
			q.wake = min(q.wake, s.Now+(queueLimits[at]-attained)/math.Max(float64(use.GPUs), 1))
		}
	}
	return q.assignment(), nil
}

func queueOf(attained float64) int {
	q := 0
	for q < len(queueLimits) && attained >= queueLimits[q] {
		q++
	}
	return q
}

// services are the predicted GPU-seconds of the jobs, past ones included, sorted.
func services(s allocate.State) (out []float64) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if t := remaining(j); !math.IsInf(t, 1) {
			out = append(out, j.Attained+t*size(j))
		}
	}
	slices.Sort(out)
	return out
}

// gittins is the index of a job that has attained a service: the chance that it is done
// within the next quantum over the service that is expected to take (section 3.2).
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
