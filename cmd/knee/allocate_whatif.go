package main

import (
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
	Change   string      `json:"change"` // empty: things as they are
	Feasible bool        `json:"feasible"`
	Why      string      `json:"why,omitempty"`
	Value    float64     `json:"value"`
	Bound    float64     `json:"bound"`
	Totals   plan.Totals `json:"totals"`
}

// allocateWhatIf prints the plan's totals as things are and after each
// change.
func (a *app) allocateWhatIf(pr plan.Problem, f allocateFlags, out format) error {
	if pr.FairSlots == 0 {
		pr.FairSlots = pr.Cluster.Slots() // one yardstick for all
	}
	var rows []whatIfRow
	for _, text := range append([]string{""}, f.whatIf...) {
		changed, err := change(pr, text)
		if err != nil {
			return err
		}
		row := whatIfRow{Change: text}
		made, err := policy.Solve(changed)
		var none *plan.Infeasible
		switch {
		case errors.As(err, &none) && text != "":
			row.Why = err.Error()
		case err != nil:
			return err
		default:
			row.Feasible, row.Value, row.Bound, row.Totals = true, made.Value, made.Bound, plan.TotalsOf(changed, made)
		}
		rows = append(rows, row)
	}
	return out.print(a.stdout, rows, whatIfTable(rows))
}

func whatIfTable(rows []whatIfRow) table {
	t := table{columns: []string{"change", "value", "value_change", "running", "paused", "changed", "gpus_used", "gpus_total", "mean_finish_s", "last_finish_s", "price_per_hour", "why"}}
	t.people = &table{columns: []string{"change", "value", "by", "running", "paused", "changed", "slots", "mean_finish", "last", "$/h", "why"}}
	for _, r := range rows {
		name := r.Change
		if name == "" {
			name = "as it is"
		}
		if !r.Feasible {
			t.add(name, "", "", "", "", "", "", "", "", "", "", r.Why)
			t.people.add(name, "", "", "", "", "", "", "", "", "", r.Why)
			continue
		}
		s := r.Totals
		t.add(name, exact(r.Value), signed(r.Value-rows[0].Value, exact), fmt.Sprint(s.Running), fmt.Sprint(s.Paused), fmt.Sprint(s.Changed),
			fmt.Sprint(s.GPUsUsed), fmt.Sprint(s.GPUsTotal), exact(s.MeanFinish), exact(s.LastFinish), exact(s.PricePerHour), "")
		t.people.add(name, number(r.Value), signed(r.Value-rows[0].Value, number), fmt.Sprint(s.Running), fmt.Sprint(s.Paused), fmt.Sprint(s.Changed),
			fmt.Sprintf("%d/%d", s.GPUsUsed, s.GPUsTotal), seconds(s.MeanFinish), seconds(s.LastFinish), number(s.PricePerHour), "")
	}
	return t
}

// signed is a number with its sign.
func signed(v float64, write func(float64) string) string {
	if v > 0 {
		return "+" + write(v)
	}
	return write(v)
}

// change applies one --what-if to a problem; the empty text changes nothing.
func change(pr plan.Problem, text string) (plan.Problem, error) {
	if text == "" {
		return pr, nil
	}
	bad := func(err error) (plan.Problem, error) {
		return pr, usageError{fmt.Errorf("--what-if %q: %w", text, err)}
	}
	sign, rest := text[0], strings.TrimSpace(text[1:])
	if sign != '+' && sign != '-' || rest == "" {
		return bad(errors.New("want + or - and what to add or remove; see 'knee allocate --help'"))
	}
	word, arg, _ := strings.Cut(rest, " ")
	arg = strings.TrimSpace(arg)
	switch {
	case word == "job" && sign == '-':
		return orBad(bad)(pr.WithoutJob(arg))
	case word == "jobs" && sign == '+':
		return moreJobs(pr, arg)
	case word == "nodes" && sign == '+':
		c, err := data.LoadCluster(arg)
		if err != nil {
			return pr, err
		}
		return withNodesOf(pr, c)
	}
	if n, err := strconv.Atoi(word); err == nil && arg != "" {
		if sign == '+' {
			return orBad(bad)(pr.WithNodes(arg, n))
		}
		return orBad(bad)(pr.WithoutLast(arg, n))
	}
	if sign == '+' {
		return bad(errors.New("want a count and a GPU type, jobs and a file, or nodes and a file"))
	}
	if slices.Contains(pr.Cluster.GPUTypes(), rest) {
		return orBad(bad)(pr.WithoutLast(rest, -1))
	}
	names, err := hostlist.Expand(rest)
	if err != nil {
		return bad(err)
	}
	return orBad(bad)(pr.WithoutNodes(names))
}

// orBad passes a problem on, and an error through bad.
func orBad(bad func(error) (plan.Problem, error)) func(plan.Problem, error) (plan.Problem, error) {
	return func(pr plan.Problem, err error) (plan.Problem, error) {
		if err != nil {
			return bad(err)
		}
		return pr, nil
	}
}

// moreJobs adds the jobs of a file.
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

// withNodesOf adds the nodes of another cluster.
func withNodesOf(pr plan.Problem, more *data.Cluster) (plan.Problem, error) {
	c := *pr.Cluster
	c.Nodes = append(slices.Clone(c.Nodes), more.Nodes...)
	pr.Cluster = &c
	return pr, nil
}

// allocateCurve prints the value of clusters of other sizes.
func (a *app) allocateCurve(pr plan.Problem, out format) error {
	pr.FairSlots = pr.Cluster.Slots()
	points, err := plan.Curve(pr, policy.Solve)
	if err != nil {
		return err
	}
	t := table{columns: []string{"gpu_type", "nodes", "now", "value", "bound", "value_per_node", "running", "gpus_used", "gpus_total", "mean_finish_s", "price_per_hour"}}
	t.people = &table{columns: []string{"gpu_type", "nodes", "now", "value", "bound", "per_node", "running", "slots", "mean_finish", "$/h"}}
	for _, p := range points {
		now := ""
		if p.Now {
			now = "now"
		}
		if !p.Feasible {
			t.add(p.GPUType, fmt.Sprint(p.Nodes), now, "", "", "", "0", "", "", "", "")
			t.people.add(p.GPUType, fmt.Sprint(p.Nodes), now, "", "", "", "0", "", "", "")
			continue
		}
		s := p.Totals
		t.add(p.GPUType, fmt.Sprint(p.Nodes), now, exact(p.Value), exact(p.Bound), exact(p.PerNode), fmt.Sprint(s.Running),
			fmt.Sprint(s.GPUsUsed), fmt.Sprint(s.GPUsTotal), exact(s.MeanFinish), exact(s.PricePerHour))
		t.people.add(p.GPUType, fmt.Sprint(p.Nodes), now, number(p.Value), number(p.Bound), number(p.PerNode), fmt.Sprint(s.Running),
			fmt.Sprintf("%d/%d", s.GPUsUsed, s.GPUsTotal), seconds(s.MeanFinish), number(s.PricePerHour))
	}
	return out.print(a.stdout, points, t)
}
