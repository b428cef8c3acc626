package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
)

// explain prints all that a plan says about some of its jobs.
func (a *app) explain(made *data.Plan, names []string, out format) error {
	t := table{columns: []string{"job", "what", "is"}}
	var jobs []data.PlannedJob
	for _, name := range names {
		at := slices.IndexFunc(made.Jobs, func(j data.PlannedJob) bool { return j.Name == name })
		if at < 0 {
			var known []string
			for _, j := range made.Jobs {
				known = append(known, j.Name)
			}
			return usageError{&data.UnknownError{What: "job", Name: name, Known: known[:min(len(known), 20)]}}
		}
		j := made.Jobs[at]
		jobs = append(jobs, j)
		t.add(name, "action", string(j.Action))
		if j.Workers > 0 {
			t.add(name, "gets", sizeText(j)+" on "+nodesText(j.Placement))
			t.add(name, "batch", batchText(j))
			t.add(name, "goodput", between(j.Goodput, number)+" samples/s")
		}
		t.add(name, "reason", j.Reason)
		if w := j.Worth; w != nil {
			t.add(name, "worth", fmt.Sprintf("%s more than getting nothing; its place costs %s at the prices of the plan", number(w.Value), number(w.Cost)))
		}
		for _, w := range j.Warnings {
			t.add(name, "warning", w)
		}
	}
	return out.print(a.stdout, jobs, t)
}

// allocatePrices prints the shadow prices of GPU types, and jobs by whether
// they are worth their place.
func (a *app) allocatePrices(pr plan.Problem, out format) error {
	pr.Resolve = true
	made, err := policy.Solve(pr)
	if err != nil {
		return err
	}
	write := out.figures()
	solved := func(v *float64) string {
		if v == nil {
			return ""
		}
		return write(*v)
	}
	t := table{columns: []string{"kind", "name", "value", "cost", "surplus", "one_more", "one_less"}}
	for _, p := range made.Prices {
		t.add("gpu", p.GPUType, write(p.PerGPU), "", "", solved(p.OneMore), solved(p.OneLess))
	}
	jobs := slices.Clone(made.Jobs)
	jobs = slices.DeleteFunc(jobs, func(j data.PlannedJob) bool { return j.Worth == nil })
	slices.SortStableFunc(jobs, func(x, y data.PlannedJob) int { return cmp.Compare(x.Worth.Surplus, y.Worth.Surplus) })
	for _, j := range jobs {
		t.add("job", j.Name, write(j.Worth.Value), write(j.Worth.Cost), write(j.Worth.Surplus), "", "")
	}
	if err := out.print(a.stdout, struct {
		Prices []data.GPUPrice   `json:"prices"`
		Jobs   []data.PlannedJob `json:"jobs"`
	}{made.Prices, jobs}, t); err != nil {
		return err
	}
	var types []string
	for _, p := range made.Prices {
		types = append(types, fmt.Sprintf("one more %s is worth %s", p.GPUType, number(p.PerGPU)))
	}
	a.note("in units of the objective %s: %s; jobs of negative surplus are worth less than the GPUs they hold", made.Objective, strings.Join(types, ", "))
	return nil
}
