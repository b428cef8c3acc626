package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/allocate"
	"knee/data"
)

// entry is what is known of a policy.
type entry struct {
	make func() allocate.Policy
	gang bool // it takes the size of a job as its owner asked for it
}

// policies is the registry: one line for each policy.
func policies() map[string]entry {
	elastic := func(mk func() allocate.Policy) entry { return entry{make: mk} }
	gang := func(mk func() allocate.Policy) entry { return entry{make: mk, gang: true} }
	return map[string]entry{
		allocate.PolicyMarginalGain: elastic(func() allocate.Policy { return MarginalGain{} }),
		allocate.PolicyEven:         elastic(func() allocate.Policy { return Even{} }),
		"optimus-greedy":            elastic(func() allocate.Policy { return MarginalGain{Greedy: true} }),
		"knee":                      elastic(func() allocate.Policy { return Knee{Risk: DefaultRisk} }),
		"fifo":                      gang(func() allocate.Policy { return FIFO{} }),
		"fifo-backfill":             gang(func() allocate.Policy { return FIFO{Backfill: true} }),
		"srtf":                      gang(func() allocate.Policy { return SRTF{} }),
	}
}

// Gang reports whether the policy of a name takes the size of a job as its
// owner asked for it; the others decide on it.
func Gang(name string) bool { return policies()[name].gang }

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
	return mk.make(), nil
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
