package policy

import (
	"errors"

	"knee/allocate"
	"knee/allocate/solve"
	"knee/internal/knapsack"
)

// tableCells bounds the knapsack table: the product of the GPUs of every type.
const tableCells = 1 << 12

// solveValued chooses one option per job, or none, so that the sum of values
// is largest: idle and value say what no option and option n of a job are
// worth, idle being asked first. It is solved to its optimum while GPUs are
// all that limits and the cluster is small enough for a table, beyond that by
// marginal gain.
func solveValued(s allocate.State, idle func(*allocate.JobState) float64, value func(j *allocate.JobState, n int) float64) (allocate.Assignment, error) {
	if s.Cluster == nil {
		return allocate.Assignment{}, errors.New("policy: the state has no cluster")
	}
	jobs := make([]allocate.JobState, len(s.Jobs))
	for i := range s.Jobs {
		jobs[i] = s.Jobs[i]
		jobs[i].Idle = idle(&jobs[i])
		options := make([]allocate.Option, len(s.Jobs[i].Options))
		copy(options, s.Jobs[i].Options)
		for n := range options {
			options[n].Value = value(&jobs[i], n)
		}
		jobs[i].Options = options
	}
	s.Jobs = jobs
	types := s.Cluster.GPUTypes()
	limits, at, cells := make([]int, len(types)), map[string]int{}, 1
	for i, t := range types {
		at[t] = i
		for _, n := range s.Cluster.Nodes {
			if n.GPUType == t && !n.Drained {
				limits[i] += n.GPUs
			}
		}
		cells *= limits[i] + 1
	}
	if cells > tableCells || !onlyGPUs(s) {
		return solve.MarginalGain{Greedy: true}.Allocate(s)
	}
	groups := make([][]knapsack.Item, len(s.Jobs))
	for i, j := range s.Jobs {
		for _, o := range j.Options {
			kind, known := at[o.Use.GPUType]
			if !known {
				kind, o.Value = 0, 0 // of a type that is not there
			}
			groups[i] = append(groups[i], knapsack.Item{Kind: kind, Size: o.Use.GPUs, Value: o.Value - j.Idle})
		}
	}
	return allocate.Assignment{Choice: knapsack.Choose(groups, limits)}, nil
}

// onlyGPUs reports whether GPUs are all that limits.
func onlyGPUs(s allocate.State) bool {
	for i := range s.Jobs {
		for n := range s.Jobs[i].Options {
			o := &s.Jobs[i].Options[n]
			if o.Use.CPUs != 0 || o.Use.Memory != 0 || o.Use.PSCPUs != 0 || o.Use.PSMemory != 0 {
				return false
			}
		}
	}
	return true
}
