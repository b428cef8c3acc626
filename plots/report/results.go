package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/allocate/simulate"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/plots"
)

// reportResults adds a table of results, with a figure where its kind has one.
func (in *Inputs) reportResults(r *Report, t Results) {
	s := Section{Title: map[string]string{"simulation": "Simulation", "jobs": "Simulated jobs", "search": "Comparison of searches"}[t.Kind]}
	switch t.Kind {
	case "simulation":
		if f := bestPolicy(t); f != "" {
			r.Findings = append(r.Findings, f)
		}
	case "jobs":
		names, runs := grouped.By(t.Replayed, func(r simulate.Replayed) string { return r.Workload })
		for _, workload := range names {
			fig, err := plots.NewSimulation("How soon are jobs done?", runs[workload])
			s.figure(fig, err, "Share of jobs completed within a time after submission.")
		}
	}
	s.table(resultTable(t), cut(len(t.Rows), t.File), t.Kind != "jobs")
	r.Sections = append(r.Sections, s)
}

// texts returns the cells of a column, empty where there are none.
func (t Results) texts(name string) []string {
	k := slices.Index(t.Columns, name)
	out := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		if k >= 0 && k < len(row) {
			out[i] = row[k]
		}
	}
	return out
}

// column returns the values of a column, NaN where they are no numbers.
func (t Results) column(name string) []float64 {
	return list.Map(t.texts(name), func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN()
		}
		return v
	})
}

// bestPolicy says which policy has the smallest mean completion time on each workload.
func bestPolicy(t Results) string {
	policy, workload, mean := t.texts("policy"), t.texts("workload"), t.column("jct_mean_s")
	var done []int // rows with a mean
	for i, v := range mean {
		if !math.IsNaN(v) {
			done = append(done, i)
		}
	}
	names, rows := grouped.By(done, func(i int) string { return workload[i] })
	var found []string
	for _, w := range names {
		slices.SortStableFunc(rows[w], func(i, k int) int { return cmp.Compare(mean[i], mean[k]) })
		if len(rows[w]) > 1 {
			best, next := rows[w][0], rows[w][1]
			found = append(found, fmt.Sprintf("on %s %s has the smallest mean completion time, %s; %s has %s",
				cmp.Or(w, "the workload"), policy[best], plots.Duration(mean[best]), policy[next], plots.Duration(mean[next])))
		}
	}
	if len(found) == 0 {
		return ""
	}
	s := strings.Join(found, ". ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

// reportUsage adds a figure of the GPUs in use for every workload.
func (in *Inputs) reportUsage(r *Report) {
	names, runs := grouped.By(in.Used, func(u simulate.Replayed) string { return u.Workload })
	for _, workload := range names {
		s := Section{Title: "GPUs in use: " + cmp.Or(workload, "a workload")}
		fig, err := plots.NewOccupancy("How full is the cluster?", runs[workload])
		s.figure(fig, err, "Above: GPUs in use. Below: jobs without GPUs, preempted ones included.")
		r.Sections = append(r.Sections, s)
	}
}

func resultTable(t Results) *Table {
	out := &Table{}
	columns := make([][]float64, len(t.Columns))
	for k, name := range t.Columns {
		columns[k] = t.column(name)
		out.Columns = append(out.Columns, Column{name, len(t.Rows) > 0 && !slices.ContainsFunc(columns[k], math.IsNaN)})
	}
	for i, row := range t.Rows[:min(mostRows, len(t.Rows))] {
		cells := slices.Repeat([]any{""}, len(t.Columns))
		for k, text := range row[:min(len(row), len(cells))] {
			if cells[k] = text; out.Columns[k].Numeric {
				cells[k] = columns[k][i]
			}
		}
		out.row(cells...)
	}
	return out
}

// reportPlan adds what each job gets, why, and how close the plan is to the best.
func (in *Inputs) reportPlan(r *Report, p *data.Plan) {
	s := Section{Title: fmt.Sprintf("Plan (%s, %s)", cmp.Or(p.Policy, "marginal-gain"), p.Objective)}
	run, u := list.Count(p.Jobs, func(j data.PlannedJob) bool { return j.Workers > 0 }), p.Utilization
	finding := fmt.Sprintf("The plan runs %d of %d jobs on %d of %d worker slots", run, len(p.Jobs), u.GPUsUsed, u.GPUsTotal)
	switch {
	case p.Bound != 0 && 100*p.Gap < 0.005:
		finding += "; no plan is better"
	case p.Bound != 0:
		finding += fmt.Sprintf("; no plan can be better by more than %s %%", plots.Plain(100*p.Gap))
	}
	r.Findings = append(r.Findings, finding+".")
	r.Warnings = append(r.Warnings, p.Warnings...)
	if in.Cluster != nil {
		fig, err := plots.NewAllocation("Who gets what", "", in.Cluster, p)
		s.figure(fig, err, "One bar per node, one cell per worker slot.")
	} else {
		s.Text = append(s.Text, "Give cluster.yaml too for the figure of nodes.")
	}
	s.table(planTable(p), "Jobs, with 90 % intervals", true)
	r.Sections = append(r.Sections, s)
}

func planTable(p *data.Plan) *Table {
	t := newTable("job", "action", "gets", "#goodput (samples/s)", "#done in", "#cost", "why")
	for _, j := range p.Jobs {
		gets, why := "", j.Reason
		if j.Workers > 0 {
			why = "on " + plots.Nodes(j.Placement) + "; " + why
			gets = data.Config{GPUType: j.GPUType, Mode: j.Mode, Workers: j.Workers, PS: j.PS,
				LocalBatch: j.LocalBatch, AccumSteps: j.AccumSteps, Layout: j.Layout, Extra: j.Extra}.String()
		}
		t.row(j.Name, j.Action, gets, estimate(j.Goodput, plots.Plain), estimate(j.Finish, plots.Duration), estimate(j.Cost, plots.Money), why)
	}
	return t
}

// estimate is a predicted quantity with its interval; empty if unknown.
func estimate(e data.Estimate, f func(float64) string) Cell {
	return Cell{plots.Interval(e, f), e.Mean}
}
