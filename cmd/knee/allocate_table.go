package main

import (
	"fmt"
	"slices"
	"strings"

	"knee/allocate/plan"
	"knee/data"
)

// planTable shows a plan as what it changes against what runs now: every
// figure in a column of its own for machines, intervals in words for people.
func planTable(pr plan.Problem, plan *data.Plan) table {
	was := map[string]string{}
	for _, j := range pr.Jobs {
		if j.Current != nil {
			was[j.Name] = fmt.Sprintf("%s × %s", j.Current.Placement, j.Current.GPUType)
		}
	}
	t := planCSV(plan, was)
	t.people = planForPeople(plan, was)
	return t
}

// planForPeople is the plan in the width of a terminal: what a job gets in
// one column, where it stands before the reason below it.
func planForPeople(plan *data.Plan, was map[string]string) *table {
	t := &table{columns: []string{"job", "action", "gets", "batch", "goodput", "finish", "cost", "reason"}}
	for _, j := range plan.Jobs {
		reason := j.Reason
		if w := was[j.Name]; w != "" {
			reason = "was " + w + "; " + reason
		}
		if j.Action == data.Pause {
			t.add(j.Name, string(j.Action), "nothing", "", "", "", "", reason)
			continue
		}
		gets := fmt.Sprintf("%d × %s", j.Workers, j.GPUType)
		if j.Mode.UsesPS() {
			gets += fmt.Sprintf(", %d %s", j.PS, j.Mode)
		}
		finish, cost := "", ""
		if j.Finish.Mean > 0 {
			finish = between(j.Finish, seconds)
		}
		if j.Cost.Mean > 0 {
			cost = between(j.Cost, dollars)
		}
		t.add(j.Name, string(j.Action), gets, batchText(j), between(j.Goodput, number), finish, cost, "on "+nodesText(j.Placement)+"; "+reason)
	}
	return t
}

// planCSV is the plan for machines.
func planCSV(plan *data.Plan, was map[string]string) table {
	t := table{columns: []string{"job", "action", "workers", "ps", "gpu_type", "mode", "local_batch", "accum_steps", "nodes",
		"goodput", "goodput_lo", "goodput_hi", "finish_s", "finish_lo_s", "finish_hi_s", "cost_usd", "cost_lo_usd", "cost_hi_usd", "was", "reason"}}
	figures := func(e data.Estimate) []string { return []string{orEmpty(e.Mean), orEmpty(e.Lo), orEmpty(e.Hi)} }
	layouts := slices.ContainsFunc(plan.Jobs, func(j data.PlannedJob) bool { return !j.Plain() })
	if layouts {
		t.columns = append(t.columns, data.LayoutNames()...)
	}
	for _, j := range plan.Jobs {
		cells := []string{j.Name, string(j.Action), fmt.Sprint(j.Workers), fmt.Sprint(j.PS), j.GPUType, string(j.Mode),
			orEmpty(j.LocalBatch), fmt.Sprint(j.AccumSteps), nodesText(j.Placement)}
		cells = append(cells, slices.Concat(figures(j.Goodput), figures(j.Finish), figures(j.Cost))...)
		cells = append(cells, was[j.Name], j.Reason)
		for _, name := range data.LayoutNames() {
			if layouts {
				cells = append(cells, j.Get(name))
			}
		}
		t.add(cells...)
	}
	return t
}

func batchText(j data.PlannedJob) string {
	text := number(j.LocalBatch)
	if j.AccumSteps > 0 {
		text += fmt.Sprintf(" ×%d", j.AccumSteps+1)
	}
	if !j.Plain() {
		text += ", " + j.Layout.String()
	}
	return text
}

func nodesText(shares []data.NodeShare) string {
	var parts []string
	for _, s := range shares {
		text := fmt.Sprintf("%s:%d", s.Node, s.Workers)
		if s.PS > 0 {
			text += fmt.Sprintf("+%dps", s.PS)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// planSummary is how good a plan is.
func planSummary(plan *data.Plan) string {
	bound := fmt.Sprintf("no plan exceeds %s", number(plan.Bound))
	if plan.RunningBound < plan.Bound && number(plan.RunningBound) != number(plan.Bound) {
		bound = fmt.Sprintf("no plan that runs every job exceeds %s, none at all %s", number(plan.RunningBound), number(plan.Bound))
	}
	return fmt.Sprintf("%s, objective %s: value %s, %s (gap %.2f %%); %d of %d worker slots in use",
		plan.Policy, plan.Objective, number(plan.Value), bound, 100*plan.Gap, plan.Utilization.GPUsUsed, plan.Utilization.GPUsTotal)
}

// planTotals is what a plan does and amounts to.
func planTotals(pr plan.Problem, made *data.Plan) string {
	t := plan.TotalsOf(pr, made)
	var actions []string
	for _, a := range data.Actions() {
		n := 0
		for _, j := range made.Jobs {
			if j.Action == a {
				n++
			}
		}
		if n > 0 {
			actions = append(actions, fmt.Sprintf("%d %s", n, a))
		}
	}
	text := fmt.Sprintf("%d jobs: %s", len(made.Jobs), strings.Join(actions, ", "))
	if t.GPUsTotal > 0 {
		text += fmt.Sprintf("; %.0f %% of the slots in use", 100*float64(t.GPUsUsed)/float64(t.GPUsTotal))
	}
	if t.PricePerHour > 0 {
		text += ", " + dollars(t.PricePerHour) + " per hour"
	}
	if t.MeanFinish > 0 {
		text += fmt.Sprintf("; mean finish in %s, the last in %s", seconds(t.MeanFinish), seconds(t.LastFinish))
	}
	return text
}
