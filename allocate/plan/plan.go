package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/allocate/solve"
	"knee/data"
	"knee/internal/parallel"
)

// plan makes the plan of a placement, with reasons and warnings.
func (p *prepared) plan(best solve.Solution, placed []place.Placed) *data.Plan {
	out := &data.Plan{
		Version: data.PlanVersion, Objective: cmp.Or(p.Objective, objective.Default), Policy: p.Policy, Seed: p.Seed,
		Inputs: append([]data.Input{}, p.Inputs...), Jobs: []data.PlannedJob{},
	}
	unit := p.value(out, best, placed)
	placer := place.New(p.state.Cluster)
	out.Utilization.GPUsTotal = p.Cluster.Slots()
	tally := p.state.Tally()
	for i := range placed {
		if placed[i].Choice != allocate.None {
			tally.Add(i, &placed[i].Option.Use, 1)
			placer.Take(placed[i].Nodes, p.Jobs[i].Resources)
			out.Utilization.GPUsUsed += placed[i].Option.Use.GPUs
		}
	}
	left := left{placer.Free(), tally}
	for i := range best.Worth {
		w := &best.Worth[i]
		w.Value, w.Cost, w.Surplus = w.Value*unit, w.Cost*unit, w.Surplus*unit
	}
	if p.Resolve {
		parallel.Do(len(best.Worth), 1, func(i int) { best.Worth[i].Knowing = unit * p.knowing(i, &best) })
	}
	out.Prices = p.prices(out, best, unit)
	names := map[string]string{} // of the scheduler, by GPU type
	for _, t := range p.Cluster.GPUTypes() {
		names[t] = p.Cluster.GPUName(t)
	}
	var ws warnings
	for i := range p.Jobs {
		j := p.planned(i, placed[i], left, best)
		j.GPUName = names[j.GPUType]
		if o, ok := p.occupants[i]; ok {
			for _, s := range o.nodes { // GPUsTotal has no drained nodes
				if slices.ContainsFunc(p.Cluster.Nodes, func(n data.Node) bool { return n.Name == s.Node && !n.Drained }) {
					out.Utilization.GPUsUsed += s.Workers
				}
			}
			ws.add(j.Name, "are not planned and stay as they are", o.why)
		}
		from := len(ws)
		p.warn(&ws, i, placed[i])
		for _, w := range ws[from:] {
			j.Warnings = append(j.Warnings, w.text)
		}
		out.Jobs = append(out.Jobs, j)
	}
	out.Warnings = slices.Concat(ws.grouped(), p.warnOfTenants(), p.warnOfPrices())
	idle := out.Utilization.GPUsTotal - out.Utilization.GPUsUsed
	waits := slices.ContainsFunc(out.Jobs, func(j data.PlannedJob) bool { return !j.Action.Runs() })
	if f := placer.Fragmentation(); f > 0.5 && idle >= 4 && waits {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d GPUs are idle, %.0f %% of them on partly used nodes, where jobs that want whole nodes cannot use them", idle, 100*f))
	}
	return out
}

// value sets the value of a plan and the upper bound of all plans. unit is the derivative
// of the value by the sum over jobs that is maximised.
func (p *prepared) value(out *data.Plan, best solve.Solution, placed []place.Placed) (unit float64) {
	var subjects []objective.Subject // those that are planned
	for i := range p.subjects {
		if _, fixed := p.occupants[i]; !fixed {
			subjects = append(subjects, p.subjects[i])
		}
	}
	report := func(sum float64) float64 { return finite(p.objective.Report(sum, subjects)) }
	total := place.Value(p.state.Jobs, placed)
	atLeast := func(bound float64) float64 { // without the rounding of sums in another order
		if total > bound && total <= bound+1e-9*(1+math.Abs(bound)) {
			return total
		}
		return bound
	}
	out.Value, out.Bound, out.RunningBound = report(total), report(atLeast(best.Bound)), report(atLeast(best.RunningBound))
	bound := out.Bound
	if p.runsAll(placed) {
		bound = out.RunningBound
	}
	out.Gap = math.Max(0, (bound-out.Value)/math.Max(math.Abs(bound), 1e-12))
	h := 1e-6 * (1 + math.Abs(total))
	return (p.objective.Report(total+h, subjects) - p.objective.Report(total, subjects)) / h
}

// left is what a plan leaves.
type left struct {
	free  map[string]int // worker slots of each GPU type
	tally *allocate.Tally
}

func (p *prepared) planned(i int, at place.Placed, left left, best solve.Solution) data.PlannedJob {
	job := p.Jobs[i]
	var out data.PlannedJob
	if o, ok := p.occupants[i]; ok {
		out = o.planned(job)
	} else {
		out = p.decided(i, at, left, best)
	}
	out.Name, out.ID, out.Was, out.InitialBatch = job.Name, job.ID, job.Current.Shares(), job.Batch.Initial
	r := job.Resources
	out.Resources = data.PlanNeeds{WorkerCPUs: r.Worker.CPUs, WorkerMemory: r.Worker.Memory, PSCPUs: r.PS.CPUs, PSMemory: r.PS.Memory}
	out.Template = job.Template
	if job.Workers != (data.IntRange{}) && job.LogicalWorkers == 0 { // not every number in between divides them
		out.Range = data.IntRange{Min: max(1, job.Workers.Min), Max: job.Workers.Max}
	}
	return out
}

// decided is the entry of a job that was planned.
func (p *prepared) decided(i int, at place.Placed, left left, best solve.Solution) data.PlannedJob {
	var worth *data.Worth // nil for a job without options, and under objectives that give them no worth
	if len(p.state.Jobs[i].Options) > 0 && !p.objective.Unpriced {
		worth = &best.Worth[i]
	}
	if at.Choice == allocate.None {
		_, unplanned := p.infeasible[i]
		return data.PlannedJob{Action: p.action(i, at), Placement: []data.NodeShare{}, Worth: worth, Unplanned: unplanned, Reason: p.whyIdle(i, at, left)}
	}
	o := at.Option
	out := entryOf(p.action(i, at), o.Config, at.Nodes)
	out.Worth = worth
	out.Throughput, out.Goodput, out.Fits = o.Answer.Throughput, o.Answer.Goodput, o.Answer.Fits()
	out.Finish, out.Cost, out.Extrapolated = o.Answer.TimeToTarget, o.Answer.CostToTarget, o.Answer.Extrapolated
	if r := p.restart(i, at); r > 0 && out.Finish.Mean > 0 {
		out.Finish, out.Cost = out.Finish.Plus(r), out.Cost.Plus(r*o.Answer.PricePerHour/3600)
	}
	out.Reason, out.MarginalGain = p.why(i, at, left)
	return out
}

// restart is the time a job loses by what it gets, in seconds.
func (p *prepared) restart(i int, at place.Placed) float64 {
	if p.Jobs[i].Current == nil || p.action(i, at) == data.Keep {
		return 0
	}
	return p.Jobs[i].RestartSeconds
}

func (p *prepared) action(i int, at place.Placed) data.Action {
	cur := p.Jobs[i].Current
	switch {
	case at.Choice == allocate.None && cur != nil:
		return data.Pause
	case at.Choice == allocate.None:
		return data.Wait
	case cur == nil || len(cur.Placement) == 0:
		return data.Start
	}
	now, next := p.Jobs[i].Current.Config(), at.Option.Config
	switch {
	case next.Workers > now.Workers:
		return data.Grow
	case next.Workers < now.Workers:
		return data.Shrink
	case !place.Same(now, next) || !sameNodes(p.standing[i].Current, at.Nodes):
		return data.Move
	}
	return data.Keep
}

// sameNodes reports whether the workers keep their nodes; unknown nodes equal any.
func sameNodes(now, next []data.NodeShare) bool { return now == nil || data.SameNodes(now, next) }

// finite replaces infinities, which JSON cannot represent.
func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(-math.MaxFloat64, min(x, math.MaxFloat64))
}

// prices are the shadow prices of GPU types; with Problem.Resolve also the change of
// value with one GPU more and one less, which agrees up to the gap.
func (p *prepared) prices(out *data.Plan, best solve.Solution, unit float64) (all []data.GPUPrice) {
	for _, t := range p.state.Cluster.GPUTypes() {
		price, known := best.Prices[t]
		if !known {
			continue
		}
		x := data.GPUPrice{GPUType: t, PerGPU: finite(price * unit)}
		if p.Resolve {
			x.OneMore, x.OneLess = p.resolved(out.Value, t, 1), p.resolved(out.Value, t, -1)
		}
		all = append(all, x)
	}
	return all
}

// resolved is the change of value with one GPU of a type more (1) or less (−1), nil if
// that cannot be planned.
func (p *prepared) resolved(value float64, gpuType string, by int) *float64 {
	nodes := slices.Clone(p.Cluster.Nodes)
	at := slices.IndexFunc(nodes, func(n data.Node) bool { return n.GPUType == gpuType && !n.Drained && n.GPUs+by > 0 })
	if at < 0 {
		return nil
	}
	nodes[at].GPUs += by
	pr := p.withCluster(nodes)
	pr.Resolve = false
	again, err := solveWith(pr, p.oracles, nil)
	if err != nil {
		return nil
	}
	change := float64(by) * (again.Value - value)
	return &change
}
