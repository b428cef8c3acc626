package policy

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/solve"
)

// Themis auctions free GPUs among the jobs that are worst off by finish-time fairness
// (Mahajan et al., NSDI 2020, sections 3 to 5): ρ is the time a job will have taken, from
// submission to its predicted end, over what it would have taken on an equal share of the
// cluster. GPUs whose lease has ended are offered to the share 1 − f of jobs with the largest
// ρ, f = 0.8; of their bids, what ρ would be with a gang on each type and without, those win
// together that maximise Π 1/ρ. What they leave goes to the others by ρ. Simplified, see
// docs/policies.md.
type Themis struct{ leases }

// themisOffered is 1 − f, themisLease the seconds of a lease (section 8.1).
const (
	themisOffered = 0.2
	themisLease   = 1200
)

// Allocate implements [allocate.Policy].
func (t *Themis) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	var err error
	t.during(q, s.Now+themisLease, func() {
		worst := func(j *allocate.JobState) key { return key{-rho(s, j)} }
		bidders := q.waiting(worst)
		err = auction(q, bidders[:int(math.Ceil(themisOffered*float64(len(bidders))))])
		q.fill(worst)
	})
	return q.assignment(), err
}

// auction serves the bidders whose gangs, on the GPUs left, maximise Σ ln 1/ρ. A job that
// loses waits a lease longer. Its ideal time, the same in both cases, cancels out.
func auction(q *queue, bidders []int) error {
	s := q.state
	const held = 1e6 // more than any bids together
	won, err := solve.Best(s, func(i, n int) float64 {
		j := &s.Jobs[i]
		switch {
		case q.choice[i] == n:
			return held
		case q.choice[i] >= 0 || !slices.Contains(bidders, i) || !slices.Contains(gang(j), n):
			return math.NaN()
		}
		wait := s.Now - j.Submitted + themisLease + timeLeft(j)
		return math.Log(wait / math.Max(s.Now-j.Submitted+optionTime(j, n), 1))
	})
	if err != nil {
		return err
	}
	for _, i := range bidders {
		if c := won.Choice[i]; c >= 0 {
			q.try(i, c)
		}
	}
	return nil
}

// rho is the finish-time fairness of a job if it runs from now on.
func rho(s allocate.State, j *allocate.JobState) float64 {
	left := timeLeft(j)
	share := math.Max(1, float64(s.Cluster.Slots())/float64(max(1, len(s.Jobs))))
	ideal := (j.History.Ran + left) * math.Max(1, size(j)/share)
	return (s.Now - j.Submitted + left) / math.Max(ideal, 1)
}
