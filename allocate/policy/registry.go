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
	// needs lists, by blanks, the fields of jobs.yaml without which it would
	// not be what it is called: a plan that lacks one is refused.
	needs string
	takes takes
}

// takes says what a policy makes of what a problem asks for.
type takes int

const (
	ownSize  takes = 1 << iota // it takes the size of a job as its owner asked for it
	values                     // it decides by the values that the objective gives options
	restarts                   // it weighs what a change of a running job costs
)

// policies is the registry: one line for each policy.
func policies() map[string]entry {
	return map[string]entry{
		allocate.PolicyMarginalGain: {func() allocate.Policy { return MarginalGain{} }, "", values | restarts},
		allocate.PolicyEven:         {func() allocate.Policy { return Even{} }, "", 0},
		"optimus-greedy":            {func() allocate.Policy { return MarginalGain{Greedy: true} }, "", values | restarts},
		"optimus":                   {func() allocate.Policy { return Optimus{} }, "remaining", 0},
		"knee":                      {func() allocate.Policy { return Knee{Risk: DefaultRisk} }, "remaining", restarts},
		"pollux":                    {func() allocate.Policy { return Pollux{} }, "submitted history.restarts", restarts},
		"sia":                       {func() allocate.Policy { return Sia{} }, "submitted history.restarts", restarts},
		"gandiva":                   {func() allocate.Policy { return Gandiva{} }, "requested history.seconds", 0},
		"oasis":                     {func() allocate.Policy { return OASiS{} }, "remaining submitted", 0},
		"fifo":                      {func() allocate.Policy { return FIFO{} }, "requested submitted", ownSize},
		"fifo-backfill":             {func() allocate.Policy { return FIFO{Backfill: true} }, "requested submitted", ownSize},
		"sjf":                       {func() allocate.Policy { return SJF{} }, "requested remaining", ownSize},
		"srtf":                      {func() allocate.Policy { return SRTF{} }, "requested remaining", ownSize},
		"drf":                       {func() allocate.Policy { return DRF{} }, "requested submitted tenant", ownSize},
		"tetris":                    {func() allocate.Policy { return Tetris{} }, "requested remaining", ownSize},
		"tiresias-las":              {func() allocate.Policy { return Tiresias{} }, "requested submitted history.gpu_seconds", ownSize},
		"tiresias-gittins":          {func() allocate.Policy { return Tiresias{Gittins: true} }, "requested remaining history.gpu_seconds", ownSize},
		"e-las":                     {func() allocate.Policy { return ELAS{} }, "requested history.gpu_seconds history.progress", ownSize},
		"astraea":                   {func() allocate.Policy { return Astraea{} }, "requested submitted tenant history.gpu_seconds", ownSize},
		"gandiva-fair":              {func() allocate.Policy { return GandivaFair{} }, "requested tenant history.gpu_seconds", ownSize},
		"themis":                    {func() allocate.Policy { return Themis{} }, "requested remaining submitted history.seconds", ownSize},
		"gavel-maxmin":              {func() allocate.Policy { return Gavel{Objective: GavelMaxMin} }, "requested history.by_type history.seconds", ownSize},
		"gavel-ftf":                 {func() allocate.Policy { return Gavel{Objective: GavelFTF} }, "requested remaining submitted history.by_type history.seconds", ownSize},
		"gavel-makespan":            {func() allocate.Policy { return Gavel{Objective: GavelMakespan} }, "requested remaining history.by_type history.seconds", ownSize},
		"allox":                     {func() allocate.Policy { return AlloX{} }, "requested remaining", ownSize},
	}
}

// Gang reports whether the policy of a name takes the size of a job as its
// owner asked for it; the others decide on it.
func Gang(name string) bool { return policies()[name].takes&ownSize != 0 }

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
