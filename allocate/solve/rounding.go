package solve

import (
	"slices"

	"knee/allocate"
)

// rounded lets every job choose its best item at the prices of the dual. If the
// choices fit they are nearly the best: only jobs with ties at these prices, about
// as many as there are scarce resources, can be wrong. If they do not fit, prices of
// exceeded resources are raised until they do, and greedy steps use what is left. It
// returns nil if no prices tried give choices that fit.
func (k *knapsack) rounded(d dual, mustRun bool) *selection {
	const tries = 24
	price := append([]float64(nil), d.price...)
	raise, top := 1e-4, max(slices.Max(price), 1e-9)
	for range tries {
		s := k.empty()
		for i := range k.jobs {
			if _, c := k.chosen(i, price, mustRun); c != allocate.None {
				s.set(i, c)
			}
		}
		short := false
		for d, free := range s.free {
			if free < -allocate.Slack {
				short = true
				price[d] = max(price[d]*(1+raise), raise*top) // also of a resource without a price
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
