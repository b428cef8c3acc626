package policy

import (
	"maps"
	"slices"

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
		"optimus":                   elastic(func() allocate.Policy { return Optimus{} }),
		"knee":                      elastic(func() allocate.Policy { return Knee{Risk: DefaultRisk} }),
		"pollux":                    elastic(func() allocate.Policy { return Pollux{} }),
		"sia":                       elastic(func() allocate.Policy { return Sia{} }),
		"gandiva":                   elastic(func() allocate.Policy { return Gandiva{} }),
		"oasis":                     elastic(func() allocate.Policy { return OASiS{} }),
		"fifo":                      gang(func() allocate.Policy { return FIFO{} }),
		"fifo-backfill":             gang(func() allocate.Policy { return FIFO{Backfill: true} }),
		"sjf":                       gang(func() allocate.Policy { return SJF{} }),
		"srtf":                      gang(func() allocate.Policy { return SRTF{} }),
		"drf":                       gang(func() allocate.Policy { return DRF{} }),
		"tetris":                    gang(func() allocate.Policy { return Tetris{} }),
		"tiresias-las":              gang(func() allocate.Policy { return Tiresias{} }),
		"tiresias-gittins":          gang(func() allocate.Policy { return Tiresias{Gittins: true} }),
		"e-las":                     gang(func() allocate.Policy { return ELAS{} }),
		"astraea":                   gang(func() allocate.Policy { return Astraea{} }),
		"gandiva-fair":              gang(func() allocate.Policy { return GandivaFair{} }),
		"themis":                    gang(func() allocate.Policy { return Themis{} }),
		"gavel-maxmin":              gang(func() allocate.Policy { return Gavel{Objective: GavelMaxMin} }),
		"gavel-ftf":                 gang(func() allocate.Policy { return Gavel{Objective: GavelFTF} }),
		"gavel-makespan":            gang(func() allocate.Policy { return Gavel{Objective: GavelMakespan} }),
		"allox":                     gang(func() allocate.Policy { return AlloX{} }),
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
		return nil, &data.UnknownError{What: "policy", Name: name, Known: Names()}
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
