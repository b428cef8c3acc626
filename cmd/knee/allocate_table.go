package main

import (
	"fmt"
	"strings"

	"knee/allocate/export"
	"knee/allocate/plan"
	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// planTable shows the changes of a plan against the running jobs: in CSV every
// figure in its own column, on a terminal within its width.
func planTable(pr plan.Problem, plan *data.Plan, f format) table {
	if f == "csv" {
		rows := export.Rows(plan)
		return table{columns: rows[0], rows: rows[1:]}
	}
	was := map[string]string{}
	for _, j := range pr.Jobs {
		if j.Current != nil {
			was[j.Name] = fmt.Sprintf("was %s × %s; ", j.Current.Placement, j.Current.GPUType)
		}
	}
	t := table{columns: []string{"job", "action", "gets", "batch", "goodput", "finish", "cost", "reason"}}
	for _, j := range plan.Jobs {
		if !j.Action.Runs() {
			t.add(j.Name, string(j.Action), "nothing", "", "", "", "", was[j.Name]+j.Reason)
			continue
		}
		finish, cost := "", ""
		if j.Finish.Mean > 0 {
			finish = between(j.Finish, seconds)
		}
		if j.Cost.Mean > 0 {
			cost = between(j.Cost, dollars)
		}
		t.add(j.Name, string(j.Action), sizeText(j), batchText(j), goodputText(j), finish, cost, "on "+nodesText(j.Placement)+"; "+was[j.Name]+j.Reason)
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

// goodputText is empty for a job that is not planned.
func goodputText(j data.PlannedJob) string {
	if j.Goodput.Mean == 0 {
		return ""
	}
	return between(j.Goodput, number)
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

// planSummary gives the value of a plan, its bounds and its use of the cluster.
func planSummary(plan *data.Plan) string {
	bound := fmt.Sprintf("no plan exceeds %s", number(plan.Bound))
	if plan.RunningBound < plan.Bound && number(plan.RunningBound) != number(plan.Bound) {
		bound = fmt.Sprintf("no plan that runs every job exceeds %s, none at all %s", number(plan.RunningBound), number(plan.Bound))
	}
	return fmt.Sprintf("%s, objective %s: value %s, %s (gap %.2f %%); %d of %d worker slots in use",
		plan.Policy, plan.Objective, number(plan.Value), bound, 100*plan.Gap, plan.Utilization.GPUsUsed, plan.Utilization.GPUsTotal)
}

// planTotals counts the actions of a plan and gives its use, price and finish.
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
	text := fmt.Sprintf("%s: %s", english.Plural(len(made.Jobs), "job", ""), strings.Join(actions, ", "))
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
