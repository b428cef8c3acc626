package policy

import "knee/allocate/solve"

// MarginalGain is [solve.MarginalGain]: the next unit goes to the job
// that gains most per share of its dominant resource, followed by repair.
type MarginalGain = solve.MarginalGain
