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
	q.keep()
	for _, i := range sorted(s, submitted) {
		if waits := q.choice[i] < 0 && !q.serve(i); waits && !f.Backfill && s.Jobs[i].Current < 0 && len(s.Jobs[i].Options) > 0 {
			break
		}
	}
	return q.assignment(), nil
}
