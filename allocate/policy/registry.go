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
)

type entry struct {
	name       string
	make       func() allocate.Policy
	needs      string // fields of jobs.yaml, by blanks; a plan without one is refused
	takes      takes
	round      float64 // seconds between decisions as published; 0 decides at every event
	source     string  // where it was published, and which sections
	simplified string  // the differences from the source; empty if faithful
}

// takes are the parts of a problem that a policy uses.
type takes int

const (
	ownSize      takes = 1 << iota // the size that a job's owner requested
	values                         // the values that the objective gives options
	restarts                       // the cost of changing a running job
	initialBatch                   // it leaves every job the batch it began with
)

// policies is the registry.
func policies() []entry {
	return []entry{
		{name: Default, make: func() allocate.Policy { return solve.MarginalGain{} }, takes: values | restarts,
			source: "this project; steps of Optimus, EuroSys 2018, section 4.1"},
		{name: "knee", make: func() allocate.Policy { return Knee{} }, needs: "remaining", takes: restarts,
			source: "this project; optimal control of a fluid cluster, heSRPT where all speed-ups are powers"},
		{name: "even", make: func() allocate.Policy { return solve.Even{} }, takes: initialBatch,
			source: "what people do by hand"},
		{name: "optimus", make: func() allocate.Policy { return Optimus{} }, needs: "remaining",
			source: "Optimus, EuroSys 2018, section 4.1"},
		{name: "optimus-greedy", make: func() allocate.Policy { return solve.MarginalGain{Greedy: true} }, takes: values | restarts,
			source: "Optimus, EuroSys 2018, section 4.1, on the objective of the plan"},
		{name: "pollux", make: func() allocate.Policy { return Pollux{} }, needs: "submitted history.restarts", takes: restarts, round: 60,
			source: "Pollux, OSDI 2021, section 4.2", simplified: "objective solved as a knapsack, not genetically; jobs that span nodes may share one"},
		{name: "sia", make: func() allocate.Policy { return Sia{} }, needs: "submitted history.restarts", takes: restarts, round: 60,
			source: "Sia, SOSP 2023, section 3", simplified: "values are not rounded to two decimals"},
		{name: "rubick", make: func() allocate.Policy { return serving(rubick) }, needs: "requested submitted history.restarts history.seconds", takes: restarts,
			source: "Rubick, MLSys 2025, section 5", simplified: "no guaranteed jobs; GPUs are divided anew, not moved between jobs; CPUs are not divided"},
		{name: "dl2", make: func() allocate.Policy { return DL2{} }, needs: "remaining submitted", takes: restarts,
			source: "DL2, IEEE TPDS 2021", simplified: "one network scores every job, steps are whole sizes; no supervised start, no critic; learned from made-up jobs"},
		{name: "gavel-maxmin", make: func() allocate.Policy { return &Gavel{Objective: GavelMaxMin} }, needs: "requested history.by_type history.seconds", takes: ownSize, round: gavelRound,
			source: "Gavel, OSDI 2020, sections 4.1, 4.3 and 5", simplified: "space is shared in replays with `--packed` only, by predicted speed until a pair has run; programs solved every round"},
		{name: "gavel-ftf", make: func() allocate.Policy { return &Gavel{Objective: GavelFTF} }, needs: "requested remaining submitted history.by_type history.seconds", takes: ownSize, round: gavelRound,
			source: "Gavel, OSDI 2020, sections 4.2 and 5", simplified: "as above"},
		{name: "gavel-makespan", make: func() allocate.Policy { return &Gavel{Objective: GavelMakespan} }, needs: "requested remaining history.by_type history.seconds", takes: ownSize, round: gavelRound,
			source: "Gavel, OSDI 2020, sections 4.2 and 5", simplified: "as above"},
		{name: "themis", make: func() allocate.Policy { return &Themis{} }, needs: "requested remaining submitted history.seconds", takes: ownSize,
			source: "Themis, NSDI 2020, sections 3 to 5", simplified: "a job is an app and bids truthfully, so no hidden payment; leftovers go by ρ, not by lot"},
		{name: "gandiva", make: func() allocate.Policy { return &Gandiva{} }, needs: "requested history.seconds", round: sliceRound,
			source: "Gandiva, OSDI 2018, sections 3.1 to 3.4", simplified: "pairs are tried by predicted speed, not by use of the GPU; a slice is a minute per second of restart"},
		{name: "antman", make: func() allocate.Policy { return &AntMan{} }, needs: "requested submitted", takes: ownSize,
			source: "AntMan, OSDI 2020, section 4", simplified: "a guest may slow its host"},
		{name: "gandiva-fair", make: func() allocate.Policy { return &GandivaFair{} }, needs: "requested tenant history.gpu_seconds", takes: ownSize, round: sliceRound,
			source: "Gandiva-fair, EuroSys 2020, section 3", simplified: "one scheduler for the whole cluster, no migration to balance servers"},
		{name: "tiresias-las", make: func() allocate.Policy { return &Tiresias{} }, needs: "requested submitted history.gpu_seconds", takes: ownSize,
			source: "Tiresias, NSDI 2019, section 3", simplified: "all jobs are consolidated, none is promoted; `--semantics tiresias` is exact"},
		{name: "tiresias-gittins", make: func() allocate.Policy { return &Tiresias{Gittins: true} }, needs: "requested remaining history.gpu_seconds", takes: ownSize,
			source: "Tiresias, NSDI 2019, section 3", simplified: "as above; the jobs present are the distribution of the index"},
		{name: "e-las", make: func() allocate.Policy { return serving(elas) }, needs: "requested history.gpu_seconds history.progress", takes: ownSize,
			source: "E-LAS, ICPP 2020", simplified: "no switching of sizes by profit"},
		{name: "astraea", make: func() allocate.Policy { return &Astraea{} }, needs: "requested submitted tenant history.gpu_seconds", takes: ownSize,
			source: "Astraea, TPDS 2022, section 4", simplified: "leases as long as those of Themis; placement of the replay"},
		{name: "allox", make: func() allocate.Policy { return serving(allox) }, needs: "requested remaining", takes: ownSize,
			source: "AlloX, EuroSys 2020, section 4", simplified: "a machine is a group of GPUs as large as the mean gang; the 120 oldest jobs take part"},
		{name: "oasis", make: func() allocate.Policy { return &OASiS{} }, needs: "remaining submitted", round: oasisSlot,
			source: "OASiS, INFOCOM 2018, sections 3 and 4", simplified: "workers and servers are one resource; slots of 300 s; rejected jobs ask again"},
		{name: "dps", make: func() allocate.Policy { return &OASiS{Hold: true} }, needs: "remaining submitted", round: oasisSlot,
			source: "DPS, IEEE TMC 2023; prices of OASiS", simplified: "from its abstract: gangs run without a break; no edge, no payments; as above"},
		{name: "a-online", make: func() allocate.Policy { return &AOnline{} }, needs: "remaining submitted",
			source: "A_online, MobiHoc 2020; windows of Hall et al., MOR 1997", simplified: "workers and servers are one resource; jobs not chosen run on what is left"},
		{name: "drf", make: func() allocate.Policy { return serving(drf) }, needs: "requested submitted tenant", takes: ownSize,
			source: "DRF, NSDI 2011, section 4.1", simplified: "tasks are gangs, chosen anew at every decision"},
		{name: "tetris", make: func() allocate.Policy { return serving(tetris) }, needs: "requested remaining", takes: ownSize,
			source: "Tetris, SIGCOMM 2014, sections 3.2 and 3.3", simplified: "alignment with the cluster as a whole, not with single machines"},
		{name: "fifo", make: func() allocate.Policy { return serving(fifo) }, needs: "requested submitted", takes: ownSize,
			source: "by name"},
		{name: "fifo-backfill", make: func() allocate.Policy { return serving(fifoBackfill) }, needs: "requested submitted", takes: ownSize,
			source: "by name"},
		{name: "sjf", make: func() allocate.Policy { return serving(sjf) }, needs: "requested remaining", takes: ownSize,
			source: "by name"},
		{name: "srtf", make: func() allocate.Policy { return serving(srtf) }, needs: "requested remaining", takes: ownSize,
			source: "by name"},
	}
}

// Gang reports whether a policy gives jobs the size that their owners asked for.
func Gang(name string) bool { return known(name).takes&ownSize != 0 }

// Round is the seconds between decisions of a policy; 0: at every event.
func Round(name string) float64 { return known(name).round }

// known is the entry of a name, empty if there is none.
func known(name string) entry {
	e, _ := find(name)
	return e
}

// Names lists the known policies.
func Names() []string {
	var out []string
	for _, e := range policies() {
		out = append(out, e.name)
	}
	slices.Sort(out)
	return out
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
	for _, e := range policies() {
		if e.name == cmp.Or(name, Default) {
			return e, nil
		}
	}
	return entry{}, &data.UnknownError{What: "policy", Name: name, Known: Names()}
}

// Solve makes a plan with the policy that the problem names. An objective or a
// hysteresis that the policy would ignore is a [data.InputError].
func Solve(pr plan.Problem) (*data.Plan, error) {
	e, err := find(pr.Policy)
	if err != nil {
		return nil, err
	}
	refused := func(field, found, can string, takes takes) error {
		var others []string
		for _, name := range Names() {
			if known(name).takes&takes != 0 {
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
	pr.Needs, pr.Policy = strings.Fields(e.needs), e.name
	pr.KeepBatch = pr.KeepBatch || e.takes&initialBatch != 0
	if e.name == Default {
		return plan.Solve(pr, nil)
	}
	made, err := plan.Solve(pr, e.make())
	if err == nil && e.takes&restarts == 0 {
		if n := plan.TotalsOf(pr, made).Changed; n > 0 {
			made.Warnings = append(made.Warnings, fmt.Sprintf("policy %s does not weigh what a change costs, which the value counts: it changes %d running jobs", e.name, n))
		}
	}
	return made, err
}
