package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/allocate/export"
	"knee/allocate/objective"
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/internal/list"
	"knee/plots"
)

type sharingFlags struct {
	cluster, jobs, objective, policy string
	risk                             float64
}

type allocateFlags struct {
	sharingFlags
	plan, sizes          string
	hysteresis, restart  float64
	apart, strict, curve bool
	prices               bool
	whatIf, explain      []string
}

func newAllocate(a *app) *cobra.Command {
	var f allocateFlags
	cmd := answering("allocate --cluster CLUSTER.yaml --jobs JOBS.yaml", func(cmd *cobra.Command, _ []string, out format) error {
		problem, err := f.problem(cmd)
		if err != nil {
			return err
		}
		switch {
		case f.prices:
			return a.allocatePrices(problem, out)
		case f.curve:
			return a.allocateCurve(problem, out)
		case len(f.whatIf) > 0:
			return a.allocateWhatIf(problem, f, out)
		}
		return a.allocatePlan(problem, f, out)
	})
	f.add(cmd)
	return cmd
}

func (f *allocateFlags) add(cmd *cobra.Command) {
	f.addShared(cmd)
	bounded(cmd, &f.hysteresis, "hysteresis", "least gain of changing a running job, in seconds beyond its restart", data.Seconds())
	bounded(cmd, &f.restart, "restart-seconds", "cost of a restart (default: as in jobs.yaml)", data.Seconds())
	oneOf(cmd, &f.sizes, "sizes", "numbers of workers (nodes: powers of two, then whole nodes)", plan.SizeSets()...)
	fl := cmd.Flags()
	fl.BoolVar(&f.apart, "apart", false, "never two jobs that span nodes on the same node")
	fl.BoolVar(&f.strict, "strict", false, "fail if a job cannot be planned")
	fl.StringArrayVar(&f.explain, "explain", nil, "job to explain; may be repeated")
	fl.BoolVar(&f.prices, "prices", false, "value of one more GPU, of each job, and of profiling it")
	fl.StringArrayVar(&f.whatIf, "what-if", nil, "change, such as '+2 a100'; may be repeated")
	fl.BoolVar(&f.curve, "curve", false, "value against the number of nodes of each type")
	fl.StringVar(&f.plan, "plan", "", "file for the plan")
	cmd.MarkFlagsMutuallyExclusive("what-if", "curve", "plan", "prices")
	cmd.MarkFlagsMutuallyExclusive("what-if", "curve", "explain", "prices")
}

func (f *sharingFlags) addShared(cmd *cobra.Command) {
	fileFlag(cmd, &f.cluster, "cluster", "cluster.yaml (required)", "yaml", "yml")
	fileFlag(cmd, &f.jobs, "jobs", "jobs.yaml (required)", "yaml", "yml")
	required(cmd, "cluster", "jobs")
	cmd.Flags().StringVar(&f.objective, "objective", "", "objective: "+strings.Join(objective.Names(), ", ")+" (default "+objective.Default+")")
	completes(cmd, "objective", objective.Names())
	named(cmd, &f.policy, "policy", policy.Default, "policy", policy.Names())
	bounded(cmd, &f.risk, "risk", "0: expected times, 1: high ends of their intervals", shares())
}

func (f *sharingFlags) load() (plan.Problem, error) {
	pr, err := plan.Load(f.cluster, f.jobs)
	if err == nil {
		pr.Objective, pr.Policy, pr.Risk = f.objective, f.policy, f.risk
		pr.FairSlots = pr.Cluster.Slots() // the same fair share for all changes of the cluster
	}
	return pr, err
}

func (f *allocateFlags) problem(cmd *cobra.Command) (plan.Problem, error) {
	pr, err := f.load()
	if err == nil && len(pr.Jobs) == 0 {
		err = &data.InputError{Source: data.Source{File: f.jobs, Column: "jobs"}, Found: "no jobs", Want: "at least one to plan for"}
	}
	pr.Now, pr.Hysteresis, pr.Sizes, pr.Apart, pr.Strict = time.Now(), f.hysteresis, f.sizes, f.apart, f.strict
	for i := range pr.Jobs {
		if cmd.Flags().Changed("restart-seconds") {
			pr.Jobs[i].RestartSeconds = f.restart
		}
	}
	return pr, err
}

func (a *app) allocatePlan(pr plan.Problem, f allocateFlags, out format) error {
	plan, err := policy.Solve(pr)
	if err != nil {
		return err
	}
	if f.plan != "" {
		if err := data.WriteFile(f.plan, func(w io.Writer) error { return data.WritePlan(w, plan) }); err != nil {
			return err
		}
	}
	if len(f.explain) > 0 {
		return a.explain(pr, plan, f.explain, out)
	}
	if out == "json" {
		return data.WritePlan(a.stdout, plan)
	}
	a.warn(plan.Warnings...)
	if err := out.print(a.stdout, plan, planTable(pr, plan, out)); err != nil {
		return err
	}
	a.note("%s", planSummary(plan))
	a.note("%s", planTotals(pr, plan))
	return nil
}

// planTable shows the changes of a plan: in CSV each figure in a column of its own.
func planTable(pr plan.Problem, plan *data.Plan, f format) *table {
	if f == "csv" {
		rows := export.Rows(plan)
		cells := func(row []string) []any { return list.Map(row, func(text string) any { return text }) }
		return &table{columns: rows[0], rows: list.Map(rows[1:], cells)}
	}
	was := map[string]string{}
	for _, j := range pr.Jobs {
		if j.Current != nil {
			was[j.Name] = fmt.Sprintf("was %s × %s; ", j.Current.Placement, j.Current.GPUType)
		}
	}
	t := newTable("job,action,gets,batch,goodput,finish,cost,reason")
	for _, j := range plan.Jobs {
		if !j.Action.Runs() {
			t.add(j.Name, j.Action, "nothing", "", "", "", "", was[j.Name]+j.Reason)
			continue
		}
		t.add(j.Name, j.Action, sizeText(j), batchText(j), between(j.Goodput, number), between(j.Finish, seconds), between(j.Cost, dollars),
			"on "+plots.Nodes(j.Placement)+"; "+was[j.Name]+j.Reason)
	}
	return t
}

func sizeText(j data.PlannedJob) string {
	text := fmt.Sprintf("%d × %s", j.Workers, j.GPUType)
	if j.Mode.UsesPS() {
		text += fmt.Sprintf(", %d %s", j.PS, j.Mode)
	}
	return text
}

func batchText(j data.PlannedJob) string {
	if j.LocalBatch == 0 {
		return ""
	}
	text := number(j.LocalBatch)
	if j.AccumSteps > 0 {
		text += fmt.Sprintf(" ×%d", j.AccumSteps+1)
	}
	if !j.Plain() {
		text += ", " + j.Layout.String()
	}
	return text
}

// planSummary gives the value of a plan, its bounds and its use of the cluster.
func planSummary(plan *data.Plan) string {
	bound := fmt.Sprintf("no plan exceeds %s", number(plan.Bound))
	if plan.RunningBound < plan.Bound && number(plan.RunningBound) != number(plan.Bound) {
		bound = fmt.Sprintf("no plan that runs every job exceeds %s, none at all %s", number(plan.RunningBound), number(plan.Bound))
	}
	return fmt.Sprintf("%s, objective %s: value %s, %s (gap %.2f %%); %d of %d worker slots in use",
		plan.Policy, plan.Objective, number(plan.Value), bound, 100*plan.Gap, plan.Utilization.GPUsUsed, plan.Utilization.GPUsTotal)
}

func planTotals(pr plan.Problem, made *data.Plan) string {
	t, count := plan.TotalsOf(pr, made), map[data.Action]int{}
	for _, j := range made.Jobs {
		count[j.Action]++
	}
	var actions []string
	for _, a := range data.Actions() {
		if count[a] > 0 {
			actions = append(actions, fmt.Sprintf("%d %s", count[a], a))
		}
	}
	text := fmt.Sprintf("%s: %s", english.Plural(len(made.Jobs), "job", ""), strings.Join(actions, ", "))
	if t.PricePerHour > 0 {
		text += ", " + dollars(t.PricePerHour) + " per hour"
	}
	if t.MeanFinish > 0 {
		text += fmt.Sprintf("; mean finish in %s, the last in %s", seconds(t.MeanFinish), seconds(t.LastFinish))
		if made.Objective == objective.Default && made.Policy == policy.Default && t.Running > 1 {
			text += " if this plan is kept to the end; " + made.Objective + " expects a new one whenever a job ends (knee operate), --objective saved-time expects none"
		}
	}
	return text
}
