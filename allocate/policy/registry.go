package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/plan"
	"knee/allocate/solve"
	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// entry is a policy; its publication and what differs from it stand in docs/policies.md.
type entry struct {
	name  string
	make  func() allocate.Policy
	needs string // fields of jobs.yaml, by blanks; a plan without one is refused
	takes takes
	round float64 // seconds between decisions as published; 0 decides at every event
}

// takes are the parts of a problem that a policy uses.
type takes int

const (
	ownSize       takes = 1 << iota // the size that a job's owner requested
	values                          // the values that the objective gives options
	restarts                        // the cost of changing a running job
	initialBatch                    // it leaves every job the batch it began with
	tenantWeights                   // the weights of tenants
	beside                          // the speeds of two jobs on the same GPUs
)

// policies is the registry, in the order of docs/policies.md.
func policies() []entry {
	gavel := func(o GavelObjective) func() allocate.Policy {
		return func() allocate.Policy { return &Gavel{Objective: o} }
	}
	plain := func(f allocate.PolicyFunc) func() allocate.Policy {
		return func() allocate.Policy { return f }
	}
	queued := func(serve func(*queue)) func() allocate.Policy { return plain(serving(serve)) }
	return []entry{
		{Default, plain(solve.MarginalGain), "", values | restarts, 0},
		{"knee", func() allocate.Policy { return Knee{} }, "remaining", restarts, 0},
		{"even", plain(solve.Even), "", initialBatch, 0},
		{"optimus", plain(optimus), "remaining", 0, 0},
		{"optimus-greedy", plain(func(s allocate.State) (allocate.Assignment, error) { return solve.Greedy(s, nil) }), "", values | restarts, 0},
		{"pollux", plain(pollux), "submitted history.restarts", restarts, 60},
		{"sia", plain(sia), "submitted history.restarts", restarts, 60},
		{"rubick", queued(rubick), "requested submitted history.restarts history.seconds", restarts, 0},
		{"dl2", func() allocate.Policy { return DL2{} }, "remaining submitted", restarts, 0},
		{"gavel-maxmin", gavel(GavelMaxMin), "requested history.by_type history.seconds", ownSize | beside, gavelRound},
		{"gavel-ftf", gavel(GavelFTF), "requested remaining submitted history.by_type history.seconds", ownSize | beside, gavelRound},
		{"gavel-makespan", gavel(GavelMakespan), "requested remaining history.by_type history.seconds", ownSize | beside, gavelRound},
		{"themis", func() allocate.Policy { return &Themis{} }, "requested remaining submitted history.seconds", ownSize, 0},
		{"gandiva", func() allocate.Policy { return &Gandiva{} }, "requested history.seconds", beside, sliceRound},
		{"antman", queued(antman), "requested submitted", ownSize | beside, 0},
		{"gandiva-fair", func() allocate.Policy { return &GandivaFair{} }, "requested tenant history.gpu_seconds", ownSize | tenantWeights, sliceRound},
		{"tiresias-las", func() allocate.Policy { return Tiresias{} }, "requested submitted history.gpu_seconds", ownSize, 0},
		{"tiresias-gittins", func() allocate.Policy { return Tiresias{Gittins: true} }, "requested remaining history.gpu_seconds", ownSize, 0},
		{"e-las", queued(elas), "requested history.gpu_seconds history.progress", ownSize, 0},
		{"astraea", func() allocate.Policy { return &Astraea{} }, "requested submitted tenant history.gpu_seconds", ownSize | tenantWeights, 0},
		{"allox", queued(allox), "requested remaining", ownSize, 0},
		{"oasis", func() allocate.Policy { return &OASiS{} }, "remaining submitted", 0, oasisSlot},
		{"dps", func() allocate.Policy { return &OASiS{Hold: true} }, "remaining submitted", 0, oasisSlot},
		{"a-online", func() allocate.Policy { return &AOnline{} }, "remaining submitted", 0, 0},
		{"drf", queued(drf), "requested submitted tenant", ownSize | tenantWeights, 0},
		{"tetris", queued(tetris), "requested remaining", ownSize, 0},
		{"fifo", queued(fifo), "requested submitted", ownSize, 0},
		{"fifo-backfill", queued(fifoBackfill), "requested submitted", ownSize, 0},
		{"sjf", queued(sjf), "requested remaining", ownSize, 0},
		{"srtf", queued(srtf), "requested remaining", ownSize, 0},
	}
}

// Gang reports whether a policy gives jobs the size that their owners asked for.
func Gang(name string) bool {
	e, _ := find(name)
	return e.takes&ownSize != 0
}

// Round is the seconds between decisions of a policy; 0: at every event.
func Round(name string) float64 {
	e, _ := find(name)
	return e.round
}

// Names lists the known policies.
func Names() []string { return taking(0) }

// Sharing lists the policies that may let two jobs run on the GPUs of one.
func Sharing() []string { return taking(beside) }

// taking lists the policies that use some parts of a problem.
func taking(parts takes) (names []string) {
	for _, e := range policies() {
		if e.takes&parts == parts {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}

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
	all := policies()
	i := slices.IndexFunc(all, func(e entry) bool { return e.name == cmp.Or(name, Default) })
	if i < 0 {
		return entry{}, &data.UnknownError{What: "policy", Name: name, Known: Names()}
	}
	return all[i], nil
}

// Solve makes a plan with the policy that the problem names. An objective or a
// hysteresis that the policy would ignore is a [data.InputError].
func Solve(pr plan.Problem) (*data.Plan, error) {
	e, err := find(pr.Policy)
	if err != nil {
		return nil, err
	}
	refused := func(field, found, can string, takes takes) error {
		return &data.InputError{Source: data.Source{Column: field}, Found: found + " with policy " + pr.Policy,
			Want: "none, as " + pr.Policy + " does not " + can + "; these do: " + strings.Join(taking(takes), ", ")}
	}
	switch {
	case pr.Objective != "" && e.takes&values == 0:
		return nil, refused("objective", pr.Objective, "decide by an objective that is given", values)
	case pr.Hysteresis > 0 && e.takes&restarts == 0:
		return nil, refused("hysteresis", fmt.Sprintf("%g s", pr.Hysteresis), "weigh what a change costs", restarts)
	}
	pr.Needs, pr.Policy = strings.Fields(e.needs), e.name
	pr.Gang = e.takes&ownSize != 0
	pr.KeepBatch = pr.KeepBatch || e.takes&initialBatch != 0
	var policy allocate.Policy // nil: the default
	if e.name != Default {
		policy = e.make()
	}
	made, err := plan.Solve(pr, policy)
	if err == nil {
		made.Warnings = append(made.Warnings, e.ignored(pr, made)...)
	}
	return made, err
}

// ignored are warnings of what a plan was given and its policy does not use.
func (e entry) ignored(pr plan.Problem, made *data.Plan) (warnings []string) {
	if n := plan.TotalsOf(pr, made).Changed; n > 0 && e.takes&restarts == 0 {
		warnings = append(warnings, fmt.Sprintf("policy %s does not weigh what a change costs, which the value counts: it changes %s",
			e.name, english.Plural(n, "running job", "")))
	}
	if e.takes&tenantWeights == 0 && slices.ContainsFunc(pr.Tenants, func(t data.Tenant) bool { return cmp.Or(t.Weight, 1) != 1 }) {
		warnings = append(warnings, fmt.Sprintf("policy %s does not use the weights of tenants; these do: %s", e.name, strings.Join(taking(tenantWeights), ", ")))
	}
	// Every job of a scheduler has a priority.
	if slices.ContainsFunc(pr.Jobs, func(j data.Job) bool { return j.Priority != 0 && j.ID == "" }) {
		warnings = append(warnings, "no policy uses priority; a job of more weight counts more in the objective")
	}
	return warnings
}
