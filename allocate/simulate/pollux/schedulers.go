package pollux

import (
	"slices"

	"knee/allocate/policy"
	"knee/data"
)

// scheduler decides, once a round, on which node every worker stands.
type scheduler interface {
	// prepare is called with all jobs before the first round.
	prepare(*job)
	// schedule returns the nodes of every active job, one entry per worker,
	// nil for none. Jobs are in the order of the workload and hold what they
	// were given before.
	schedule(now float64, active []*job, h *slots) ([][]int, error)
}

// Policies lists the names [Settings] takes as a policy: tiresias and optimus
// as published, and those of package policy, which are shown option tables.
func Policies() []string {
	return slices.Sorted(slices.Values(append(policy.Names(), "tiresias")))
}

func newScheduler(s Settings) (scheduler, error) {
	switch s.Policy {
	case "tiresias", "tiresias-las":
		return &tiresias{served: map[*job]float64{}}, nil
	case "optimus":
		return &optimus{cache: map[predictKey]float64{}}, nil
	}
	p, err := policy.New(s.Policy)
	if err != nil {
		return nil, &data.UnknownError{What: "policy", Name: s.Policy, Known: Policies()}
	}
	if s.Knee != nil {
		p = *s.Knee
	}
	return newAdapted(s, p), nil
}

// free is what the kept allocations leave on every node.
func (h *slots) free(kept [][]int) []int {
	out := slices.Clone(h.gpus)
	for _, nodes := range kept {
		for _, n := range nodes {
			out[n]--
		}
	}
	return out
}

// worstFit takes n GPUs from the nodes with most free ones, the first of
// equals, and books them; nil if there are not enough.
func worstFit(free []int, n int) []int {
	var out []int
	for n > 0 {
		best := slices.Index(free, slices.Max(free))
		take := min(free[best], n)
		if take == 0 {
			return nil
		}
		free[best] -= take
		n -= take
		out = append(out, slices.Repeat([]int{best}, take)...)
	}
	return out
}
