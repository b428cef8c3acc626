package main

import (
	"context"

	"knee/plots"
)

func (q *quickstart) draw(ctx context.Context) error {
	q.say("Drawing")
	if err := q.app.writeReport(ctx, page{files: []string{q.dir}, out: q.path("report.html")}); err != nil {
		return err
	}
	for _, j := range q.jobs {
		all, err := plots.Conditions(j.predictor)
		if err != nil {
			return err
		}
		for i := range all {
			all[i].Workers = j.workers
		}
		fig, err := drawing(plots.NewScalability)(plots.ScalabilityOf(all, plots.Throughput))
		if err := q.drawn(j.name+"-scalability", fig, err); err != nil {
			return err
		}
	}
	fig, err := plots.NewAllocation(plots.Allocation{Title: "This machine, shared", Subtitle: planSummary(q.plan), Cluster: q.cluster, Plan: q.plan})
	return q.drawn("allocation", fig, err)
}

func (q *quickstart) drawn(name string, fig plots.Figure, err error) error {
	for _, ext := range []string{".svg", ".png"} {
		if err == nil {
			err = plots.Save(q.path(name+ext), fig)
		}
	}
	return err
}
