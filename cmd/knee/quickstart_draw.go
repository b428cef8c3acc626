package main

import (
	"context"

	"knee/allocate/plan"
	"knee/data"
	"knee/fit/convergence"
	"knee/plots"
	"knee/profile"
)

// draw draws every figure the quick start has the data for.
func (q *quickstart) draw(context.Context) error {
	q.plots = nil
	q.say("Drawing")
	for _, j := range q.jobs {
		for _, f := range q.figures(j) {
			fig, err := f.make()
			if err != nil {
				// One figure that cannot be drawn must not cost the others.
				q.app.warn(f.name + ": " + err.Error())
				continue
			}
			if err := q.drawn(f.name, fig); err != nil {
				return err
			}
		}
	}
	fig, err := plots.NewAllocation(plots.Allocation{Title: "This machine, shared", Subtitle: planSummary(q.plan), Cluster: q.cluster, Plan: q.plan})
	if err != nil {
		return err
	}
	if err := q.drawn("allocation", fig); err != nil {
		return err
	}
	return q.drawGains()
}

// drawGains draws what further workers would gain, if a job could have more or
// fewer than it got.
func (q *quickstart) drawGains() error {
	stairs, err := plan.Staircases(q.problem, q.plan)
	if err != nil {
		return err
	}
	spec := plots.GainsOf(stairs, q.plan, q.cluster, "")
	if spec.GPUType == "" {
		return nil
	}
	fig, err := plots.NewGains(spec)
	if err != nil {
		return err
	}
	return q.drawn("gains", fig)
}

// quickFigure is a figure to draw.
type quickFigure struct {
	name string
	make func() (plots.Figure, error)
}

// figures lists the figures of one job.
func (q *quickstart) figures(j *quickJob) []quickFigure {
	figs := []quickFigure{
		{j.name + "-scalability", func() (plots.Figure, error) {
			all, err := plots.Conditions(j.predictor)
			for i := range all {
				all[i].Workers = j.workers
			}
			if err != nil {
				return nil, err
			}
			return scalabilityFigure(all, axisFlags{"auto", "auto"})
		}},
		{j.name + "-convergence", func() (plots.Figure, error) {
			return q.app.convergenceFigure(profile.LongestRun(j.result.Curves), quickInitialBatch, nil, convergence.Settings{})
		}},
		{j.name + "-search", func() (plots.Figure, error) {
			goodput := func(m data.Measurement) float64 { return m.Throughput() * j.model.Efficiency(m.GlobalBatch()).Mean }
			return searchFigure(j.result.Measurements, "goodput (samples/s)", goodput)
		}},
	}
	for _, mode := range j.model.Modes("cpu") {
		if mode.UsesPS() {
			figs = append(figs,
				quickFigure{j.name + "-" + string(mode) + "-by-workers", q.speed(j, mode, false)},
				quickFigure{j.name + "-" + string(mode) + "-by-ps", q.speed(j, mode, true)})
		}
	}
	return figs
}

func (q *quickstart) speed(j *quickJob, mode data.Mode, overPS bool) func() (plots.Figure, error) {
	return func() (plots.Figure, error) { return speedFigure(j.predictor, "cpu", mode, 0, overPS) }
}

// drawn saves a figure as SVG for documents and PNG for a look.
func (q *quickstart) drawn(name string, fig plots.Figure) error {
	for _, ext := range []string{".svg", ".png"} {
		if err := plots.Save(q.path(name+ext), fig); err != nil {
			return err
		}
	}
	q.plots = append(q.plots, name)
	return nil
}
