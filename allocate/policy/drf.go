package policy

import (
	"math"

	"knee/internal/grouped"
)

// drf is dominant resource fairness (Ghodsi et al., NSDI 2011, section 4.1): the tenant
// whose largest share of any resource is smallest for its weight gets its next job, by
// submission. A tenant whose next job does not fit gets no more. A job without a tenant is
// its own tenant. Simplified: tasks are gangs, chosen anew at every decision.
func drf(q *queue) {
	s := q.state
	names, waiting := grouped.By(sorted(s, submitted), func(i int) string { return tenant(&s.Jobs[i]) })
	held, weight := map[string][]float64{}, tickets(s)
	for _, t := range names {
		held[t] = make([]float64, len(q.Limit))
	}
	for {
		next, least := "", math.Inf(1)
		for _, t := range names {
			if v := q.dominant(held[t]) / weight[t]; len(waiting[t]) > 0 && v < least {
				next, least = t, v
			}
		}
		if next == "" {
			return
		}
		i := waiting[next][0]
		waiting[next] = waiting[next][1:]
		if q.serve(i) {
			use := q.use(i)
			q.Capacity.Add(held[next], q.Branch(use.GPUType, ""), use, 1) // a quota is no resource
		} else if len(s.Jobs[i].Options) > 0 { // else it can never run
			waiting[next] = nil
		}
	}
}

// dominant is the largest share of any resource in a demand.
func (q *queue) dominant(v []float64) (most float64) {
	for d, used := range v {
		if limit := q.Limit[d]; limit > 0 {
			most = math.Max(most, used/limit)
		}
	}
	return most
}
