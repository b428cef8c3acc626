package policy

import "knee/allocate"

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
	order := sorted(s, submitted)
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
