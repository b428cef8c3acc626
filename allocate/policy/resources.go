package policy

import (
	"cmp"
	"slices"

	"knee/allocate"
)

// tenant is the owner of a job, the job itself if none is named.
func tenant(j *allocate.JobState) string {
	if j.History.Tenant == "" {
		return "job " + j.Name
	}
	return "tenant " + j.History.Tenant
}

// tickets is the weight of the tenant of a job if the state lists it, else that of the
// job; the weight of an unlisted tenant is the largest of its jobs.
func tickets(s allocate.State, j *allocate.JobState) float64 {
	if t, listed := s.Tenants[j.History.Tenant]; listed && t.Weight > 0 {
		return t.Weight
	}
	return weightOf(j)
}

// key orders jobs, lexicographically.
type key [3]float64

func (k key) compare(other key) int { return slices.Compare(k[:], other[:]) }

func submitted(j *allocate.JobState) key { return key{j.Submitted} }

// sorted returns the jobs by rising key, ties in order of submission.
func sorted(s allocate.State, of func(*allocate.JobState) key) []int {
	order, keys := make([]int, len(s.Jobs)), make([]key, len(s.Jobs))
	for i := range order {
		order[i], keys[i] = i, of(&s.Jobs[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(keys[a].compare(keys[b]), cmp.Compare(s.Jobs[a].Submitted, s.Jobs[b].Submitted))
	})
	return order
}

// size is the workers of the gang of a job.
func size(j *allocate.JobState) float64 {
	if g := gang(j); len(g) > 0 {
		return float64(j.Options[g[0]].Use.GPUs)
	}
	return 1
}

func weightOf(j *allocate.JobState) float64 {
	if j.Weight > 0 {
		return j.Weight
	}
	return 1
}
