package main

import (
	"fmt"
	"strings"

	"knee/allocate"
	"knee/data"
)

// planTable shows a plan as what it changes against what runs now.
func planTable(pr allocate.Problem, plan *data.Plan) table {
	t := table{columns: []string{"job", "action", "workers", "ps", "gpu_type", "mode", "batch", "nodes", "goodput", "finish", "cost", "was", "reason"}}
	was := map[string]string{}
	for _, j := range pr.Jobs {
		if j.Current != nil {
			was[j.Name] = fmt.Sprintf("%s × %s", j.Current.Placement, j.Current.GPUType)
		}
	}
	for _, j := range plan.Jobs {
		if j.Action == data.Pause {
			t.add(j.Name, string(j.Action), "0", "", "", "", "", "", "", "", "", was[j.Name], j.Reason)
			continue
		}
		finish, cost := "", ""
		if j.Finish.Mean > 0 {
			finish = between(j.Finish, seconds)
		}
		if j.Cost.Mean > 0 {
			cost = between(j.Cost, dollars)
		}
		t.add(j.Name, string(j.Action), fmt.Sprint(j.Workers), fmt.Sprint(j.PS), j.GPUType, string(j.Mode), batchText(j), nodesText(j.Placement),
			between(j.Goodput, number), finish, cost, was[j.Name], j.Reason)
	}
	return t
}

func batchText(j data.PlannedJob) string {
	if j.AccumSteps == 0 {
		return number(j.LocalBatch)
	}
	return fmt.Sprintf("%s ×%d", number(j.LocalBatch), j.AccumSteps+1)
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
	return fmt.Sprintf("%s, objective %s: value %s, no plan exceeds %s (gap %.2f %%); %d of %d worker slots in use",
		plan.Policy, plan.Objective, number(plan.Value), number(plan.Bound), 100*plan.Gap, plan.Utilization.GPUsUsed, plan.Utilization.GPUsTotal)
}

// planTotals is what a plan does and amounts to.
func planTotals(pr allocate.Problem, plan *data.Plan) string {
	t := allocate.TotalsOf(pr, plan)
	var actions []string
	for _, a := range data.Actions() {
		n := 0
		for _, j := range plan.Jobs {
			if j.Action == a {
				n++
			}
		}
		if n > 0 {
			actions = append(actions, fmt.Sprintf("%d %s", n, a))
		}
	}
	text := fmt.Sprintf("%d jobs: %s", len(plan.Jobs), strings.Join(actions, ", "))
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
