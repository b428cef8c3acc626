package policy

import (
	"maps"
	"math"
	"slices"

	"knee/allocate"
)

// Astraea is long-term GPU-time fairness (Ye et al., IEEE TPDS 2022, section 4): when a
// lease ends, the tenant furthest below its share of accumulated GPU time is served first,
// and of its jobs the one furthest below its own. Tenants, and the jobs of one, are entitled
// to equal parts by weight. The GPU time of tenants includes that of ended jobs. Simplified,
// see docs/policies.md.
type Astraea struct {
	leases
	jobs map[string]attended // at the last decision
	gone map[string]float64  // GPU-seconds of jobs that left, by tenant
}

// attended is a job of the last decision: its tenant, and the GPU time it had had.
type attended struct {
	tenant   string
	attained float64
}

// Allocate implements [allocate.Policy].
func (a *Astraea) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	had, weights := a.book(s), tickets(s)
	furthest := func(j *allocate.JobState) key {
		t := tenant(j)
		age := math.Max(s.Now-j.Submitted, 1)
		return key{had[t] / weights[t], j.Attained / (age * weightOf(j))}
	}
	a.during(q, turnOf(s.Now, themisLease), func() { q.fill(furthest) })
	return q.assignment(), nil
}

// book adds up the GPU time that tenants have had.
func (a *Astraea) book(s allocate.State) map[string]float64 {
	if a.gone == nil {
		a.gone = map[string]float64{}
	}
	before := a.jobs
	a.jobs = map[string]attended{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		a.jobs[j.Name] = attended{tenant(j), j.Attained}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, here := a.jobs[name]; !here {
			a.gone[before[name].tenant] += before[name].attained
		}
	}
	had := maps.Clone(a.gone)
	for i := range s.Jobs {
		had[tenant(&s.Jobs[i])] += s.Jobs[i].Attained
	}
	return had
}
