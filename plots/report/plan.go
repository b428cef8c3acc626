package report

import (
	"cmp"
	"fmt"
	"strings"

	"knee/data"
	"knee/plots"
)

// reportPlan adds what each job gets, why, and how close the plan is to the best.
func (in *Inputs) reportPlan(r *Report, p *data.Plan) {
	s := Section{Title: fmt.Sprintf("Plan (%s, %s)", cmp.Or(p.Policy, "marginal-gain"), p.Objective)}
	waiting := 0
	for _, j := range p.Jobs {
		if j.Workers == 0 {
			waiting++
		}
	}
	u := p.Utilization
	finding := fmt.Sprintf("The plan runs %d of %d jobs on %d of %d worker slots", len(p.Jobs)-waiting, len(p.Jobs), u.GPUsUsed, u.GPUsTotal)
	switch {
	case p.Bound != 0 && 100*p.Gap < 0.005:
		finding += "; no plan is better"
	case p.Bound != 0:
		finding += fmt.Sprintf("; no plan can be better by more than %s %%", plots.Plain(100*p.Gap))
	}
	r.Findings = append(r.Findings, finding+".")
	r.Warnings = append(r.Warnings, p.Warnings...)
	if in.Cluster != nil {
		fig, err := plots.NewAllocation(plots.Allocation{Title: "Who gets what", Cluster: in.Cluster, Plan: p})
		s.figure(fig, err, "One bar per node, one cell per worker slot.")
	} else {
		s.Text = append(s.Text, "Give cluster.yaml too for the figure of nodes.")
	}
	s.table(planTable(p), "Jobs, with 90 % intervals", true)
	r.Sections = append(r.Sections, s)
}

func planTable(p *data.Plan) *Table {
	t := newTable("job", "action", "GPU type", "mode", "#workers", "#ps", "#local batch", "#goodput (samples/s)", "#done in", "#cost", "nodes", "why")
	for _, j := range p.Jobs {
		var nodes []string
		for _, n := range j.Placement {
			share := fmt.Sprintf("%s: %d", n.Node, n.Workers)
			if n.PS > 0 {
				share += fmt.Sprintf("+%d ps", n.PS)
			}
			nodes = append(nodes, share)
		}
		t.row(text(j.Name), text(string(j.Action)), text(j.GPUType), text(string(j.Mode)), count(j.Workers), count(j.PS), figures(j.LocalBatch),
			estimate(j.Goodput, plots.Plain), estimate(j.Finish, plots.Duration), estimate(j.Cost, plots.Money), text(strings.Join(nodes, ", ")), text(j.Reason))
	}
	return t
}

// estimate is a predicted quantity with its interval; empty if it is not
// known.
func estimate(e data.Estimate, f func(float64) string) Cell {
	if e == (data.Estimate{}) {
		return text("")
	}
	return amount(e.Mean, interval(e, f))
}
