package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/plan"
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
	ownSize      takes = 1 << iota // it takes the size of a job as its owner asked for it
	values                         // it decides by the values that the objective gives options
	restarts                       // it weighs what a change of a running job costs
	initialBatch                   // it leaves every job the batch it began with
)

// policies is the registry: one line for each policy.
func policies() map[string]entry {
	return map[string]entry{
		Default:            {func() allocate.Policy { return MarginalGain{} }, "", values | restarts},
		"even":             {func() allocate.Policy { return Even{} }, "", initialBatch},
		"optimus-greedy":   {func() allocate.Policy { return MarginalGain{Greedy: true} }, "", values | restarts},
		"optimus":          {func() allocate.Policy { return Optimus{} }, "remaining", 0},
		"knee":             {func() allocate.Policy { return Knee{Risk: DefaultRisk} }, "remaining", restarts},
		"pollux":           {func() allocate.Policy { return Pollux{} }, "submitted history.restarts", restarts},
		"sia":              {func() allocate.Policy { return Sia{} }, "submitted history.restarts", restarts},
		"gandiva":          {func() allocate.Policy { return &Gandiva{} }, "requested history.seconds", 0},
		"oasis":            {func() allocate.Policy { return &OASiS{} }, "remaining submitted", 0},
		"fifo":             {func() allocate.Policy { return FIFO{} }, "requested submitted", ownSize},
		"fifo-backfill":    {func() allocate.Policy { return FIFO{Backfill: true} }, "requested submitted", ownSize},
		"sjf":              {func() allocate.Policy { return SJF{} }, "requested remaining", ownSize},
		"srtf":             {func() allocate.Policy { return SRTF{} }, "requested remaining", ownSize},
		"drf":              {func() allocate.Policy { return DRF{} }, "requested submitted tenant", ownSize},
		"tetris":           {func() allocate.Policy { return Tetris{} }, "requested remaining", ownSize},
		"tiresias-las":     {func() allocate.Policy { return &Tiresias{} }, "requested submitted history.gpu_seconds", ownSize},
		"tiresias-gittins": {func() allocate.Policy { return &Tiresias{Gittins: true} }, "requested remaining history.gpu_seconds", ownSize},
		"e-las":            {func() allocate.Policy { return ELAS{} }, "requested history.gpu_seconds history.progress", ownSize},
		"astraea":          {func() allocate.Policy { return &Astraea{} }, "requested submitted tenant history.gpu_seconds", ownSize},
		"gandiva-fair":     {func() allocate.Policy { return &GandivaFair{} }, "requested tenant history.gpu_seconds", ownSize},
		"themis":           {func() allocate.Policy { return &Themis{} }, "requested remaining submitted history.seconds", ownSize},
		"gavel-maxmin":     {func() allocate.Policy { return &Gavel{Objective: GavelMaxMin} }, "requested history.by_type history.seconds", ownSize},
		"gavel-ftf":        {func() allocate.Policy { return &Gavel{Objective: GavelFTF} }, "requested remaining submitted history.by_type history.seconds", ownSize},
		"gavel-makespan":   {func() allocate.Policy { return &Gavel{Objective: GavelMakespan} }, "requested remaining history.by_type history.seconds", ownSize},
		"allox":            {func() allocate.Policy { return AlloX{} }, "requested remaining", ownSize},
	}
}

// Gang reports whether the policy of a name takes the size of a job as its
// owner asked for it; the others decide on it.
func Gang(name string) bool { return policies()[name].takes&ownSize != 0 }

// Names lists the known policies.
func Names() []string { return slices.Sorted(maps.Keys(policies())) }

// Default is the policy of the empty name.
const Default = "marginal-gain"

// New returns the policy of a name.
func New(name string) (allocate.Policy, error) {
	e, err := find(name)
	if err != nil {
		return nil, err
	}
	return e.make(), nil
}

func find(name string) (entry, error) {
	if name == "" {
		name = Default
	}
	e, ok := policies()[name]
	if !ok {
		return e, &data.UnknownError{What: "policy", Name: name, Known: Names()}
	}
	return e, nil
}

// Solve makes a plan with the policy that the problem names. What the problem
// asks for and the policy has no word for is a [data.InputError].
func Solve(pr plan.Problem) (*data.Plan, error) {
	e, err := find(pr.Policy)
	if err != nil {
		return nil, err
	}
	refused := func(field, found, can string, takes takes) error {
		var others []string
		for _, name := range Names() {
			if policies()[name].takes&takes != 0 {
				others = append(others, name)
			}
		}
		return &data.InputError{Source: data.Source{Column: field}, Found: found + " with policy " + pr.Policy,
			Want: "none, as " + pr.Policy + " does not " + can + "; these do: " + strings.Join(others, ", ")}
	}
	switch {
	case pr.Objective != "" && e.takes&values == 0:
		return nil, refused("objective", pr.Objective, "decide by an objective that is given", values)
	case pr.Hysteresis > 0 && e.takes&restarts == 0:
		return nil, refused("hysteresis", fmt.Sprintf("%g s", pr.Hysteresis), "weigh what a change costs", restarts)
	}
	pr.Needs = strings.Fields(e.needs)
	pr.KeepBatch = pr.KeepBatch || e.takes&initialBatch != 0
	if pr.Policy == "" {
		pr.Policy = Default
	}
	if pr.Policy == Default {
		return plan.Solve(pr, nil)
	}
	made, err := plan.Solve(pr, e.make())
	if err == nil && e.takes&restarts == 0 {
		running, changed := map[string]bool{}, 0
		for _, j := range pr.Jobs {
			running[j.Name] = j.Current != nil
		}
		for _, j := range made.Jobs {
			if running[j.Name] && j.Action != data.Keep {
				changed++
			}
		}
		if changed > 0 {
			made.Warnings = append(made.Warnings, fmt.Sprintf("policy %s does not weigh what a change costs, which the value counts: it changes %d running jobs", pr.Policy, changed))
		}
	}
	return made, err
}
