package policy

import "knee/allocate"

// MarginalGain is [allocate.MarginalGain]: the next unit goes to the job
// that gains most per share of its dominant resource, followed by repair.
type MarginalGain = allocate.MarginalGain
