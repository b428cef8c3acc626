package policy

import (
	"cmp"
	"slices"

	"knee/allocate"
)

// FIFO serves jobs in order of submission, with the gang they asked for,
// and never takes anything back. The first job that does not fit blocks
// those behind it; with Backfill they may pass.
type FIFO struct {
	Backfill bool
}

// Allocate implements [allocate.Policy].
func (f FIFO) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	order := sorted(s, func(j *allocate.JobState) float64 { return j.Submitted })
	for _, i := range order {
		if s.Jobs[i].Current >= 0 { // running jobs run on
			q.serve(i)
		}
	}
	for _, i := range order {
		if s.Jobs[i].Current >= 0 || q.serve(i) || f.Backfill || len(s.Jobs[i].Options) == 0 {
			continue
		}
		break
	}
	return q.assignment(), nil
}

// sorted returns the jobs by rising key, ties in order of submission.
func sorted(s allocate.State, key func(*allocate.JobState) float64) []int {
	order, keys := make([]int, len(s.Jobs)), make([]float64, len(s.Jobs))
	for i := range order {
		order[i], keys[i] = i, key(&s.Jobs[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(s.Jobs[a].Submitted, s.Jobs[b].Submitted))
	})
	return order
}
