package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/internal/hostlist"
)

// whatIfRow is the plan of one change.
type whatIfRow struct {
	Change string `json:"change"` // empty: things as they are
	plan.Outcome
}

// allocateWhatIf prints the plan's totals without and with each change.
func (a *app) allocateWhatIf(pr plan.Problem, f allocateFlags, out format) error {
	pr.FairSlots = pr.Cluster.Slots() // the same fair share for all changes
	t := newOutcomes(out, "value_change", "change")
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
		t.add(made, made.Value-rows[0].Value, cmp.Or(text, "as it is"))
	}
	return out.print(a.stdout, rows, t.table)
}

// allocateCurve prints the value of clusters of other sizes.
func (a *app) allocateCurve(pr plan.Problem, out format) error {
	pr.FairSlots = pr.Cluster.Slots()
	points, err := plan.Curve(pr, policy.Solve)
	if err != nil {
		return err
	}
	t := newOutcomes(out, "value_per_node", "gpu_type", "nodes", "now")
	for _, p := range points {
		now := ""
		if p.Now {
			now = "now"
		}
		t.add(p.Outcome, p.PerNode, p.GPUType, fmt.Sprint(p.Nodes), now)
	}
	return out.print(a.stdout, points, t.table)
}

// outcomes is a table of plan totals: exact figures in CSV, else rounded.
type outcomes struct {
	table
	format format
}

func newOutcomes(f format, change string, heads ...string) *outcomes {
	figures := []string{"value", change, "running", "waiting", "changed", "slots", "mean_finish", "last_finish", "$/h", "why"}
	if f == "csv" {
		figures = []string{"value", "bound", change, "running", "waiting", "changed", "gpus_used", "gpus_total", "mean_finish_s", "last_finish_s", "price_per_hour", "why"}
	}
	return &outcomes{table{columns: append(heads, figures...)}, f}
}

// add adds the totals of one plan and the change of its value.
func (t *outcomes) add(o plan.Outcome, change float64, heads ...string) {
	s, write := o.Totals, t.format.figures()
	cells := make([]string, len(t.columns)-len(heads)-1)
	switch {
	case !o.Feasible:
	case t.format == "csv":
		cells = []string{write(o.Value), write(o.Bound), write(change), fmt.Sprint(s.Running), fmt.Sprint(s.Waiting), fmt.Sprint(s.Changed),
			fmt.Sprint(s.GPUsUsed), fmt.Sprint(s.GPUsTotal), write(s.MeanFinish), write(s.LastFinish), write(s.PricePerHour)}
	default:
		sign := ""
		if change > 0 {
			sign = "+"
		}
		cells = []string{write(o.Value), sign + write(change), fmt.Sprint(s.Running), fmt.Sprint(s.Waiting), fmt.Sprint(s.Changed),
			fmt.Sprintf("%d/%d", s.GPUsUsed, s.GPUsTotal), seconds(s.MeanFinish), seconds(s.LastFinish), write(s.PricePerHour)}
	}
	t.table.add(slices.Concat(heads, cells, []string{o.Why})...)
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
	more, err := data.LoadJobs(file)
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
	more, err := data.LoadCluster(file)
	if err != nil {
		return pr, err
	}
	c := *pr.Cluster
	c.Nodes = append(slices.Clone(c.Nodes), more.Nodes...)
	pr.Cluster = &c
	return pr, nil
}
