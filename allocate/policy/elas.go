package policy

import "knee/allocate"

// ELAS is E-LAS (Sultana, Chen, Xu and Yuan, ICPP 2020): least attained
// service scaled by progress. The job of the smallest GPU time × (1 − share of
// its declared epochs that is done) comes first, so that a job near its end
// is not held back by what it has had. It needs no durations. Gangs that do
// not fit are passed over; everyone competes anew at every decision. The
// paper's profit-based switching of sizes is not modelled.
type ELAS struct{}

// Allocate implements [allocate.Policy].
func (ELAS) Allocate(s allocate.State) (allocate.Assignment, error) {
	return inOrder(s, func(j *allocate.JobState) key { return key{j.Attained * (1 - j.History.Progress)} }, false)
}
