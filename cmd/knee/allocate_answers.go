package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/hostlist"
	"knee/plots"
	"knee/predict"
)

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
	case notCount == nil && arg != "" && n < 1:
		err = fmt.Errorf("%d fewer nodes, want at least 1", n)
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
	changed, err := pr.WithMore(more.Nodes)
	if e := (*data.InputError)(nil); errors.As(err, &e) {
		e.File = file
	}
	return changed, err
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
			say("worth", fmt.Sprintf("%s more than if it waited; others would make %s of its place", number(w.Value), number(placeCost(w))))
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

// placeCost is the cost of a job's place without rounding errors.
func placeCost(w *data.Worth) float64 {
	if math.Abs(w.Cost) < 1e-6*math.Abs(w.Value) {
		return 0
	}
	return w.Cost
}

// allocatePrices prints the value of a GPU of each type, each job's surplus, and what
// knowing its speeds is worth.
func (a *app) allocatePrices(pr plan.Problem, out format) error {
	pr.Resolve = true
	made, err := policy.Solve(pr)
	if err != nil {
		return err
	}
	t := newTable("kind,name,price,one_more,one_less,worth,place_costs,surplus,knowing")
	for _, p := range made.Prices {
		t.add("gpu", p.GPUType, p.PerGPU, orNil(p.OneMore), orNil(p.OneLess), "", "", "", "")
	}
	jobs := slices.DeleteFunc(slices.Clone(made.Jobs), func(j data.PlannedJob) bool { return j.Worth == nil })
	slices.SortStableFunc(jobs, func(x, y data.PlannedJob) int { return cmp.Compare(x.Worth.Surplus, y.Worth.Surplus) })
	for _, j := range jobs {
		t.add("job", j.Name, "", "", "", j.Worth.Value, placeCost(j.Worth), j.Worth.Surplus, j.Worth.Knowing)
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
		a.note("knowing: what the plan would gain in expectation if the speeds of the job were known; profile first where it is most")
	}
	return nil
}
