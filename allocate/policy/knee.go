package policy

import (
	"cmp"
	"math"

	"knee/allocate"
	"knee/allocate/solve"
)

// Knee is the recommended policy. It maximises, at every decision,
//
//	Σ_i c_i · kept_i(o) · f_i(o)
//
// over one option o per job, where c is what a sample of the job is worth, see [fluid], f
// predicted goodput and kept the share of progress that remains after the restart that a
// change costs, spread over Horizon or the time to the end of the job, whichever is sooner.
type Knee struct {
	// Horizon is how many seconds an allocation is expected to last at most; 0: 300, see
	// BenchmarkLearn of allocate/simulate/pollux.
	Horizon float64
}

const (
	// shortest is the least time, in seconds, that an allocation or a job is
	// assumed to last.
	shortest = 60
	// unknownWork is the assumed time left of a job of unknown length, in seconds
	// on its smallest option.
	unknownWork = 1800
	// rounds is how often the worth of samples is improved.
	rounds = 20
)

// Allocate implements [allocate.Policy].
func (k Knee) Allocate(s allocate.State) (allocate.Assignment, error) {
	worth := newFluid(s).worth()
	return solve.Best(s, func(i, n int) float64 {
		return worth[i] * k.kept(&s.Jobs[i], n) * allocate.Goodput(&s.Jobs[i].Options[n])
	})
}

// kept is the share of progress left after the restart that option n costs, over the time it
// would be used.
func (k Knee) kept(j *allocate.JobState, n int) float64 {
	if j.Current < 0 || keeps(j, n) {
		return 1
	}
	h := cmp.Or(k.Horizon, 300)
	if v := allocate.Goodput(&j.Options[n]); j.Remaining > 0 && v > 0 {
		h = math.Min(h, math.Max(j.Remaining*smallest(j)/v, shortest))
	}
	return h / (h + math.Max(0, j.History.Restart))
}

// smallest is the speed of the option of fewest workers, the fastest of those.
func smallest(j *allocate.JobState) float64 {
	if len(j.Options) == 0 {
		return 0
	}
	return math.Max(0, allocate.Goodput(&j.Options[allocate.Narrowest(j.Options)]))
}
