package solve

import (
	"slices"

	"knee/allocate"
)

// rounded lets every job choose for itself at the prices of the dual. What
// comes of it is nearly the best assignment if it fits: only jobs that are
// undecided at those prices, of which there are about as many as scarce
// resources, can be wrong. Where it does not fit, the prices of what is short
// are raised until it does; then greedy steps fill what that left free. It
// returns nil if no prices tried give an assignment that fits.
func (k *knapsack) rounded(d dual, mustRun bool) *selection {
	const tries = 24
	price := append([]float64(nil), d.price...)
	raise, top := 1e-4, max(slices.Max(price), 1e-9)
	for range tries {
		s := k.empty()
		k.view(price)
		for i := range k.jobs {
			if _, c := k.chosen(i, mustRun); c != allocate.None {
				s.set(i, c)
			}
		}
		short := false
		for d, free := range s.free {
			if free < -allocate.Slack {
				short = true
				price[d] = max(price[d]*(1+raise), raise*top) // one that was free too
			}
		}
		if !short {
			s.grow()
			return s
		}
		raise *= 1.5
	}
	return nil
}
