package policy

import (
	"math"

	"knee/allocate"
)

// Themis serves the jobs that are worst off by finish-time fairness first
// (Mahajan et al., NSDI 2020, sections 3 and 5): ρ is the time a job will have
// taken, from submission to its predicted end, over what it would have taken
// on an equal share of the cluster of its own. Free GPUs are offered to the
// worst-off fifth (the paper's f = 0.8), in order of ρ; what they leave, to
// the others in order of ρ.
//
// Approximated: bids are truthful and for the gang a job asked for, so that
// the auction that maximises Π 1/ρ becomes serving by ρ; leases are decisions
// and a job keeps its GPUs while none that is worse off wants them.
type Themis struct{}

// Allocate implements [allocate.Policy].
func (Themis) Allocate(s allocate.State) (allocate.Assignment, error) {
	return inOrder(s, func(j *allocate.JobState) key { return key{-rho(s, j)} }, false)
}

// rho is the finish-time fairness a job is heading for if it runs from now
// on.
func rho(s allocate.State, j *allocate.JobState) float64 {
	left := timeLeft(j)
	share := math.Max(1, float64(slots(s))/float64(max(1, len(s.Jobs))))
	ideal := (j.History.Ran + left) * math.Max(1, size(j)/share)
	return (s.Now - j.Submitted + left) / math.Max(ideal, 1)
}

// slots is the GPUs of the cluster, 0 where there is none.
func slots(s allocate.State) int {
	if s.Cluster == nil {
		return 0
	}
	return s.Cluster.Slots()
}
