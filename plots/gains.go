package plots

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/internal/list"
)

// gains is the gain of further workers for each job, and where the plan stopped.
type gains struct {
	Title, Subtitle string
	Objective       string           // that values are of, such as "jct"
	GPUType         string           // whose workers are given
	Slots           int              // worker slots of that type; 0 if not known
	Jobs            []plan.Staircase // on that type
}

// otherJobs is the colour of the jobs beyond mostColours.
var otherJobs = fade(axisColor, 0.6)

// mostColours is how many jobs have colours of their own: those that got most.
const mostColours = 7

// tread is a step of a job, by its index in gains.Jobs.
type tread struct {
	plan.Step
	job  int
	name string
}

// draw draws the steps of all jobs side by side, as wide as they have workers, in the order
// of their gain: filled what the plan gave, logarithmic over more than a factor of 30.
func (g gains) draw() (*Chart, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	all, shown, least := treadsOf(g.Jobs), shownJobs(g.Jobs), list.Sum(g.Jobs, func(j plan.Staircase) int { return j.Least })
	y, log := gainScale(all)
	c := newChart(g.Title, g.Subtitle, "workers given", gainLabel(g.Objective))
	if log {
		y.set(&c.Plot.Y, plot.LogScale{}, decadeTicks{})
	} else {
		y.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	}
	c.addTreads(all, shown, least, g.Slots)
	for k, i := range shown {
		c.explain(entry{label: g.Jobs[i].Job, fill: seriesColor(k)})
	}
	if n := list.Count(g.Jobs, func(j plan.Staircase) bool { return len(j.Steps) > 0 }) - len(shown); n > 0 {
		c.explain(entry{label: english.Plural(n, "other job", ""), fill: otherJobs})
	}
	return c, nil
}

// mostGiven is the GPU type of which jobs that could have more or fewer got most.
func mostGiven(stairs []plan.Staircase) string {
	given, most := map[string]int{}, ""
	for _, j := range stairs {
		if len(j.Steps) > 0 {
			given[j.GPUType] += j.Workers
		}
	}
	for _, t := range slices.Sorted(maps.Keys(given)) {
		if most == "" || given[t] > given[most] {
			most = t
		}
	}
	return most
}

// NewGains draws the staircases of a plan for one GPU type; if empty, for that of which
// jobs that could have more or fewer got most.
func NewGains(stairs []plan.Staircase, plan *data.Plan, cluster *data.Cluster, gpuType string) (*Chart, error) {
	if gpuType == "" {
		gpuType = mostGiven(stairs)
	}
	g := gains{Title: "What further workers are worth", Objective: plan.Objective, GPUType: gpuType}
	for _, j := range stairs {
		if j.GPUType == gpuType {
			g.Jobs = append(g.Jobs, j)
		}
	}
	for _, n := range cluster.Nodes {
		if n.GPUType == gpuType && !n.Drained {
			g.Slots += n.GPUs
		}
	}
	g.Subtitle = fmt.Sprintf("%s on %s, %s, objective %s", english.Plural(len(g.Jobs), "job", ""), gpuType, cmp.Or(plan.Policy, policy.Default), plan.Objective)
	return g.draw()
}

// gainLabel names the vertical axis, in the unit of the objective if it has one.
func gainLabel(objective string) string {
	const dollars = "cost saved per worker (US$)"
	return cmp.Or(map[string]string{"saved-time": "time saved per worker (s)", "cost": dollars, "deadline": dollars}[objective], "value gained per worker")
}

// check refuses jobs without a step.
func (g gains) check() error {
	for i, j := range g.Jobs {
		at := fmt.Sprintf("jobs[%d]", i)
		if err := cmp.Or(checkName(at+".job", j.Job), check(at, j, finite)); err != nil {
			return err
		}
	}
	switch {
	case list.Sum(g.Jobs, func(j plan.Staircase) int { return len(j.Steps) }) > 0:
		return nil
	case g.GPUType == "":
		return bad("jobs", "nothing beyond the smallest allocations: no job would gain from a further worker", "a job that does")
	}
	return bad("jobs", fmt.Sprintf("no step of a job on %q", g.GPUType), "a job of the plan that could have more workers, or fewer, of that type")
}

// treadsOf sorts the steps of all jobs: given ones first, then large gains first.
func treadsOf(jobs []plan.Staircase) []tread {
	var all []tread
	for i, j := range jobs {
		for _, s := range j.Steps {
			all = append(all, tread{s, i, j.Job})
		}
	}
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(all, func(a, b tread) int { return cmp.Or(rank[a.Given]-rank[b.Given], cmp.Compare(b.Gain, a.Gain)) })
	return all
}

// shownJobs returns the jobs with a colour of their own, in order: those that got most.
func shownJobs(jobs []plan.Staircase) []int {
	var index []int
	for i, j := range jobs {
		if len(j.Steps) > 0 {
			index = append(index, i)
		}
	}
	slices.SortStableFunc(index, func(a, b int) int { return jobs[b].Workers - jobs[a].Workers })
	index = index[:min(mostColours, len(index))]
	slices.Sort(index)
	return index
}

// gainScale is the range of the vertical axis; small gains that were not given stretch a
// logarithmic one by at most a factor of ten.
func gainScale(all []tread) (e extent, log bool) {
	e, given := newExtent(), newExtent()
	for _, t := range all {
		e.add(t.Gain)
		if t.Given {
			given.add(t.Gain)
		}
	}
	if log = !given.empty() && given.lo > 0 && given.hi > 30*given.lo; log {
		return extent{max(e.lo, given.lo/10), e.hi}.padLog(0.08, 0.08), true
	}
	e.add(0)
	return e.pad(0, 0.08), false
}

// addTreads adds the steps of all jobs side by side, after the smallest allocations.
func (c *Chart) addTreads(all []tread, shown []int, least, slots int) {
	at, used := float64(least), float64(least)
	for _, t := range all {
		if t.Given {
			used += float64(t.To - t.From)
		}
	}
	// As much again as was given is enough to see what comes next.
	end := math.Max(float64(slots), used+math.Max(4, 0.75*(used-float64(least))))
	for _, t := range all {
		if at >= end {
			break
		}
		col := otherJobs
		if k := slices.Index(shown, t.job); k >= 0 {
			col = seriesColor(k)
		}
		fill, rim, word := col, whiteColor, "given"
		if !t.Given {
			fill, rim, word = fade(col, 0.25), fade(col, 0.6), "not given"
		}
		to := math.Min(at+float64(t.To-t.From), end)
		c.add(box(fill, rim, at, to, t.Gain))
		c.tooltips = append(c.tooltips, tooltip{(at + to) / 2, t.Gain, fmt.Sprintf("%s, from %d to %d workers (%s)\ngain %s per worker, to %s samples/s", t.name, t.From, t.To, word, Number(t.Gain), Number(t.Goodput))})
		at = to
	}
	extent{0, math.Max(at, used)}.pad(0, 0.04).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8, whole: true})
	if least > 0 {
		c.background = append(c.background, zone(shadeColor, 0, float64(least), math.Inf(1)))
		c.explain(entry{label: "smallest allocations", fill: shadeColor})
	}
	if at > used {
		c.explain(entry{label: "given", fill: mutedColor})
		c.explain(entry{label: "not given", fill: fade(mutedColor, 0.25)})
	}
	c.add(drop(draw.LineStyle{Color: inkColor, Width: thinWidth, Dashes: dashPattern}, used, math.Inf(1)))
	text := fmt.Sprintf("stops at %g", used)
	if slots > 0 {
		text += fmt.Sprintf(" of %d", slots)
	}
	c.annotations = append(c.annotations, annotation{used, c.Plot.Y.Max, text, inkColor})
}
