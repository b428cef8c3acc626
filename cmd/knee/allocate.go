package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/allocate/export"
	"knee/allocate/objective"
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/hostlist"
	"knee/plots"
	"knee/predict"
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
	var out format
	cmd := &cobra.Command{
		Use:   "allocate --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short: "Divide a cluster among jobs by marginal gain of predicted goodput",
		Long: `allocate gives each job workers, parameter servers, a GPU type and a batch,
places them on nodes, and says what changes: keep, start, grow, shrink, move,
pause or wait. Each line says why the job got its last GPU and what one more
would bring.

Write the plan with --plan for knee export and knee apply. --explain says
everything about one job.

A job that cannot be planned is left as it is and the others are planned around
it; with --strict that is an error.

--what-if plans again with a change, each beside the plan as things are:
  '+2 a100'         two more nodes like the first of that type
  '-1 a100'         one fewer of them
  '-a100'           none of that type
  '-n[01-02]'       without these nodes
  '-job NAME'       without a job
  '+jobs FILE'      with the jobs of another jobs.yaml
  '+nodes FILE'     with the nodes of another cluster.yaml
--curve plans for a quarter to twice the nodes of each type.`,
		Example: `  knee allocate --cluster cluster.yaml --jobs jobs.yaml
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --plan plan.json
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --what-if '+1 a100' --what-if '-n1'
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --curve -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
		},
	}
	f.add(cmd)
	formatFlag(cmd, &out)
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
	fl.BoolVar(&f.prices, "prices", false, "value of one more GPU, and of each job")
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
		t := &table{columns: rows[0], rows: make([][]any, len(rows)-1)}
		for i, row := range rows[1:] {
			for _, text := range row {
				t.rows[i] = append(t.rows[i], text)
			}
		}
		return t
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

type whatIfRow struct {
	Change string `json:"change"` // empty: things as they are
	plan.Outcome
}

func (a *app) allocateWhatIf(pr plan.Problem, f allocateFlags, out format) error {
	t, add := newOutcomes("value_change", "change")
	var rows []whatIfRow
	for _, text := range append([]string{""}, f.whatIf...) {
		changed, err := change(pr, text)
		if err != nil {
			return err
		}
		made, err := plan.OutcomeOf(changed, policy.Solve)
		if err == nil && text == "" && !made.Feasible {
			err = exitError{errors.New(made.Why), exitInfeasible}
		}
		if err != nil {
			return err
		}
		rows = append(rows, whatIfRow{text, made})
		add(made, made.Value-rows[0].Value, cmp.Or(text, "as it is"))
	}
	return out.print(a.stdout, rows, t)
}

func (a *app) allocateCurve(pr plan.Problem, out format) error {
	points, err := plan.Curve(pr, policy.Solve)
	if err != nil {
		return err
	}
	t, add := newOutcomes("value_per_node", "gpu_type,nodes,now")
	for _, p := range points {
		add(p.Outcome, p.PerNode, p.GPUType, p.Nodes, map[bool]string{true: "now"}[p.Now])
	}
	return out.print(a.stdout, points, t)
}

// newOutcomes returns a table of plan totals, and what adds those of one plan.
func newOutcomes(change, heads string) (*table, func(o plan.Outcome, change float64, heads ...any)) {
	t := newTable(heads+",value,bound,"+change+",running,waiting,changed,gpus_used,gpus_total,mean_finish_s,last_finish_s,price_per_hour,why",
		heads+",value,"+change+",running,waiting,changed,slots,mean_finish,last_finish,$/h,why")
	return t, func(o plan.Outcome, change float64, heads ...any) {
		s, sign := o.Totals, map[bool]string{true: "+"}[change > 0]
		all := []any{o.Value, o.Bound, change, s.Running, s.Waiting, s.Changed,
			s.GPUsUsed, s.GPUsTotal, s.MeanFinish, s.LastFinish, s.PricePerHour}
		rounded := []any{o.Value, sign + number(change), s.Running, s.Waiting, s.Changed,
			fmt.Sprintf("%d/%d", s.GPUsUsed, s.GPUsTotal), seconds(s.MeanFinish), seconds(s.LastFinish), s.PricePerHour}
		if !o.Feasible {
			all, rounded = slices.Repeat([]any{""}, len(all)), slices.Repeat([]any{""}, len(rounded))
		}
		t.add(slices.Concat(heads, all, []any{o.Why})...)
		t.people.add(slices.Concat(heads, rounded, []any{o.Why})...)
	}
}

// change applies one --what-if to a problem; the empty text changes nothing.
func change(pr plan.Problem, text string) (changed plan.Problem, err error) {
	if text == "" {
		return pr, nil
	}
	sign, rest := text[0], strings.TrimSpace(text[1:])
	word, arg, _ := strings.Cut(rest, " ")
	arg = strings.TrimSpace(arg)
	n, notCount := strconv.Atoi(word)
	switch {
	case sign == '+' && word == "jobs":
		return moreJobs(pr, arg)
	case sign == '+' && word == "nodes":
		return moreNodes(pr, arg)
	case sign == '+' && notCount == nil && arg != "":
		changed, err = pr.WithNodes(arg, n)
	case sign == '+' && rest != "":
		err = errors.New("want a count and a GPU type, jobs and a file, or nodes and a file")
	case sign != '-' || rest == "":
		err = errors.New("want + or - and what to add or remove; see 'knee allocate --help'")
	case word == "job":
		changed, err = pr.WithoutJob(arg)
	case notCount == nil && arg != "":
		changed, err = pr.WithoutLast(arg, n)
	case slices.Contains(pr.Cluster.GPUTypes(), rest):
		changed, err = pr.WithoutLast(rest, -1)
	default:
		var names []string
		if names, err = hostlist.Expand(rest); err == nil {
			changed, err = pr.WithoutNodes(names)
		}
	}
	if err != nil {
		return pr, usageError("--what-if %q: %w", text, err)
	}
	return changed, nil
}

func moreJobs(pr plan.Problem, file string) (plan.Problem, error) {
	more, err := data.Load(file, data.ReadJobs)
	if err != nil {
		return pr, err
	}
	pr.Jobs = append(slices.Clone(pr.Jobs), more.Jobs...)
	pr.Tenants = append(slices.Clone(pr.Tenants), more.Tenants...)
	pr.Predictors, pr.Unusable = maps.Clone(pr.Predictors), maps.Clone(pr.Unusable)
	pr.AddModels(pr.Jobs[len(pr.Jobs)-len(more.Jobs):], file)
	return pr, nil
}

func moreNodes(pr plan.Problem, file string) (plan.Problem, error) {
	more, err := data.Load(file, data.ReadCluster)
	if err != nil {
		return pr, err
	}
	c := *pr.Cluster
	c.Nodes = append(slices.Clone(c.Nodes), more.Nodes...)
	pr.Cluster = &c
	return pr, nil
}

type explained struct {
	data.PlannedJob
	Measure *predict.Gain `json:"measure,omitempty"` // nil if no measurement would tell much
}

// explain prints all that a plan holds about some jobs, and what to measure next.
func (a *app) explain(pr plan.Problem, made *data.Plan, names []string, out format) error {
	t := newTable("job,what,is")
	var jobs []explained
	for _, name := range names {
		at := slices.IndexFunc(made.Jobs, func(j data.PlannedJob) bool { return j.Name == name })
		if at < 0 {
			known, _ := grouped.By(made.Jobs[:min(len(made.Jobs), 20)], func(j data.PlannedJob) string { return j.Name })
			return &data.UnknownError{What: "job", Name: name, Known: known}
		}
		j := made.Jobs[at]
		about := explained{PlannedJob: j}
		say := func(what, is string) {
			if is != "" {
				t.add(name, what, is)
			}
		}
		say("action", string(j.Action))
		if j.Workers > 0 {
			say("gets", sizeText(j)+" on "+plots.Nodes(j.Placement))
			say("batch", batchText(j))
			say("goodput, samples/s", between(j.Goodput, number))
		}
		say("finish in", between(j.Finish, seconds))
		say("reason", j.Reason)
		if w := j.Worth; w != nil {
			cost := w.Cost
			if math.Abs(cost) < 1e-6*math.Abs(w.Value) {
				cost = 0 // a rounding error
			}
			say("worth", fmt.Sprintf("%s more than if it waited; others would make %s of its place", number(w.Value), number(cost)))
		}
		for _, w := range j.Warnings {
			say("warning", w)
		}
		if p := pr.Predictors[name]; p != nil && j.Workers > 0 && p.Model.Layouts(j.GPUType) == nil {
			if about.Measure, _ = predict.GainFor(p.Model, j.Config()); about.Measure != nil {
				say("measure next", about.Measure.String())
			}
		}
		jobs = append(jobs, about)
	}
	return out.print(a.stdout, jobs, t)
}

// allocatePrices prints the value of a GPU of each type, and each job's surplus.
func (a *app) allocatePrices(pr plan.Problem, out format) error {
	pr.Resolve = true
	made, err := policy.Solve(pr)
	if err != nil {
		return err
	}
	t := newTable("kind,name,price,one_more,one_less,worth,place_costs,surplus")
	for _, p := range made.Prices {
		t.add("gpu", p.GPUType, p.PerGPU, orNil(p.OneMore), orNil(p.OneLess), "", "", "")
	}
	jobs := slices.DeleteFunc(slices.Clone(made.Jobs), func(j data.PlannedJob) bool { return j.Worth == nil })
	slices.SortStableFunc(jobs, func(x, y data.PlannedJob) int { return cmp.Compare(x.Worth.Surplus, y.Worth.Surplus) })
	for _, j := range jobs {
		t.add("job", j.Name, "", "", "", j.Worth.Value, j.Worth.Cost, j.Worth.Surplus)
	}
	if err := out.print(a.stdout, struct {
		Prices []data.GPUPrice   `json:"prices"`
		Jobs   []data.PlannedJob `json:"jobs"`
	}{made.Prices, jobs}, t); err != nil {
		return err
	}
	a.note("the plan is worth %s (objective %s); the price of a GPU is its worth if jobs took any fraction of one, one_more and one_less are what a whole one adds and takes", number(made.Value), made.Objective)
	if made.Policy != policy.Default {
		a.note("prices, and what jobs are worth, are those of the best plan found, not of what policy %s chooses", made.Policy)
	}
	if len(jobs) > 0 {
		a.note("a job with a negative surplus is worth less than what the others would make of its place")
	}
	return nil
}
