package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
)

// explain prints everything a plan holds about some of its jobs.
func (a *app) explain(made *data.Plan, names []string, out format) error {
	t := table{columns: []string{"job", "what", "is"}}
	var jobs []data.PlannedJob
	for _, name := range names {
		at := slices.IndexFunc(made.Jobs, func(j data.PlannedJob) bool { return j.Name == name })
		if at < 0 {
			var known []string
			for _, j := range made.Jobs[:min(len(made.Jobs), 20)] {
				known = append(known, j.Name)
			}
			return &data.UnknownError{What: "job", Name: name, Known: known}
		}
		j := made.Jobs[at]
		jobs = append(jobs, j)
		say := func(what, is string) {
			if is != "" {
				t.add(name, what, is)
			}
		}
		say("action", string(j.Action))
		if j.Workers > 0 {
			say("gets", sizeText(j)+" on "+nodesText(j.Placement))
			say("batch", batchText(j))
			say("goodput, samples/s", goodputText(j))
		}
		if j.Finish.Mean > 0 {
			say("finish in", between(j.Finish, seconds))
		}
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
	}
	return out.print(a.stdout, jobs, t)
}

// allocatePrices prints the value of one GPU of each type, and the surplus of
// each job.
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
		return write(*v + 0) // not −0
	}
	t := table{columns: []string{"kind", "name", "price", "one_more", "one_less", "worth", "place_costs", "surplus"}}
	for _, p := range made.Prices {
		t.add("gpu", p.GPUType, write(p.PerGPU), solved(p.OneMore), solved(p.OneLess), "", "", "")
	}
	jobs := slices.DeleteFunc(slices.Clone(made.Jobs), func(j data.PlannedJob) bool { return j.Worth == nil })
	slices.SortStableFunc(jobs, func(x, y data.PlannedJob) int { return cmp.Compare(x.Worth.Surplus, y.Worth.Surplus) })
	for _, j := range jobs {
		t.add("job", j.Name, "", "", "", write(j.Worth.Value), write(j.Worth.Cost), write(j.Worth.Surplus))
	}
	if err := out.print(a.stdout, struct {
		Prices []data.GPUPrice   `json:"prices"`
		Jobs   []data.PlannedJob `json:"jobs"`
	}{made.Prices, jobs}, t); err != nil {
		return err
	}
	a.note("the plan is worth %s (objective %s); the price of a GPU is about what one more would add and one less would take", number(made.Value), made.Objective)
	a.note("a job with a negative surplus is worth less than what the others would make of its place")
	return nil
}
