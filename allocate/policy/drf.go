package policy

import (
	"knee/internal/grouped"
	"knee/internal/list"
)

// drf is dominant resource fairness (Ghodsi et al., NSDI 2011, section 4.1): the tenant
// whose largest share of any resource is smallest for its weight gets its next job, by
// submission. A tenant whose next job does not fit gets no more. A job without a tenant is
// its own tenant. Simplified: tasks are gangs, chosen anew at every decision.
func drf(q *queue) {
	s := q.state
	names, jobs := grouped.By(sorted(s, submitted), func(i int) string { return tenant(&s.Jobs[i]) })
	waiting := list.Map(names, func(t string) []int { return jobs[t] })
	held := list.Map(names, func(string) []float64 { return make([]float64, len(q.Limit)) })
	weight := tickets(s)
	share := func(n int) (dominant float64) { // of what it holds, by weight
		for d, used := range held[n] {
			if limit := q.Limit[d]; limit > 0 {
				dominant = max(dominant, used/limit)
			}
		}
		return dominant / weight[names[n]]
	}
	takeTurns(waiting, share, func(n, i int) {
		if q.serve(i) {
			use := q.use(i)
			q.Capacity.Add(held[n], q.Branch(use.GPUType, ""), use, 1) // a quota is no resource
		} else if len(s.Jobs[i].Options) > 0 { // else it can never run
			waiting[n] = nil
		}
	})
}

// takeTurns serves the jobs that wait, by owner: next is always the first job of the owner
// of the smallest key, the first of equal ones.
func takeTurns(waiting [][]int, key func(owner int) float64, serve func(owner, job int)) {
	for {
		next, least := -1, 0.0
		for n, jobs := range waiting {
			if v := key(n); len(jobs) > 0 && (next < 0 || v < least) {
				next, least = n, v
			}
		}
		if next < 0 {
			return
		}
		i := waiting[next][0]
		waiting[next] = waiting[next][1:]
		serve(next, i)
	}
}
