package policy

import "knee/allocate"

// SJF starts the job that is predicted to take least time first, and lets it
// run to its end. Jobs that do not fit are passed over; jobs of unknown length
// come last.
type SJF struct{}

// Allocate implements [allocate.Policy].
func (SJF) Allocate(s allocate.State) (allocate.Assignment, error) {
	return inOrder(s, shortestFirst, true)
}
