package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/allocate"
	"knee/data"
)

// policies is the registry: one line for each policy.
func policies() map[string]func() allocate.Policy {
	return map[string]func() allocate.Policy{
		allocate.PolicyMarginalGain: func() allocate.Policy { return MarginalGain{} },
		allocate.PolicyEven:         func() allocate.Policy { return Even{} },
		"optimus-greedy":            func() allocate.Policy { return MarginalGain{Greedy: true} },
		"fifo":                      func() allocate.Policy { return FIFO{} },
		"fifo-backfill":             func() allocate.Policy { return FIFO{Backfill: true} },
		"srtf":                      func() allocate.Policy { return SRTF{} },
	}
}

// Names lists the known policies.
func Names() []string { return slices.Sorted(maps.Keys(policies())) }

// New returns the policy of a name; the empty name is marginal-gain.
func New(name string) (allocate.Policy, error) {
	if name == "" {
		name = allocate.PolicyMarginalGain
	}
	mk, ok := policies()[name]
	if !ok {
		return nil, fmt.Errorf("policy %q is unknown; want one of %s", name, strings.Join(Names(), ", "))
	}
	return mk(), nil
}

// Solve makes a plan with the policy that the problem names.
func Solve(pr allocate.Problem) (*data.Plan, error) {
	if pr.Policy == "" || pr.Policy == allocate.PolicyEven {
		return allocate.Solve(pr)
	}
	p, err := New(pr.Policy)
	if err != nil {
		return nil, err
	}
	return allocate.SolveWith(pr, p)
}
