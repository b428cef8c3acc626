package policy

import (
	"math"

	"knee/allocate"
)

// Astraea is long-term GPU-time fairness (Ye et al., IEEE TPDS 2022, section
// 4): at the end of every lease the tenant furthest below the share of
// accumulated GPU time it is entitled to is served first, and of its jobs the
// one furthest below its own. Tenants, and the jobs of one, are entitled to
// equal parts by weight.
//
// Approximated: accounts begin when a job is submitted, those of jobs that
// left are forgotten; leases are decisions; placement is that of the replay.
type Astraea struct{}

// Allocate implements [allocate.Policy].
func (Astraea) Allocate(s allocate.State) (allocate.Assignment, error) {
	had, weights := map[string]float64{}, map[string]float64{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		had[tenant(j)] += j.Attained
		weights[tenant(j)] = math.Max(weights[tenant(j)], weightOf(j))
	}
	return inOrder(s, func(j *allocate.JobState) key {
		t := tenant(j)
		age := math.Max(s.Now-j.Submitted, 1)
		return key{had[t] / weights[t], j.Attained / (age * weightOf(j))}
	}, false)
}

func weightOf(j *allocate.JobState) float64 {
	if j.Weight > 0 {
		return j.Weight
	}
	return 1
}
