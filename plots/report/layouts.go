package report

import (
	"fmt"

	"knee/data"
	"knee/plots"
	"knee/predict"
)

// reportLayouts adds what the model of a job says of its layouts on a GPU
// type: the fastest at every size, and over tensor and pipeline parallelism
// at the most workers measured.
func (j *job) reportLayouts(p *predict.Predictor, base data.Config, r *Report, s *Section) {
	measured := j.model.Layouts(base.GPUType)
	q := predict.LayoutQuestion{GPUType: base.GPUType}
	series, _, err := plots.LayoutSeries(p, q, predict.LayoutSizes(measured))
	var fig plots.Figure
	if err == nil {
		fig, err = plots.NewScalability(plots.Scalability{Title: "Scalability of " + orElse(j.name, "the job"),
			Subtitle: fmt.Sprintf("%s, %s samples per step", base.GPUType, plots.Number(p.LayoutBatch(q))),
			Quantity: plots.Throughput, Ideal: true, Series: []plots.Series{series}})
	}
	s.figure(fig, err, "At each size the layout of the least expected step time of those that fit; points are the fastest measured.")
	for _, m := range measured {
		q.Workers = max(q.Workers, m.Workers)
	}
	all, err := p.Layouts(q)
	if err != nil {
		r.Findings = append(r.Findings, fmt.Sprintf("%s on %d × %s: %v.", orElse(j.name, "The job"), q.Workers, base.GPUType, err))
		return
	}
	c := all[0].Config
	fits := ""
	if m := all[0].Memory; m != nil {
		fits = fmt.Sprintf(", %.0f GiB (%.0f to %.0f)", m.Peak.Mean/(1<<30), m.Peak.Lo/(1<<30), m.Peak.Hi/(1<<30))
	}
	bubble, communication := all[0].Shares()
	r.Findings = append(r.Findings, fmt.Sprintf("%s on %d × %s: the layout of the least expected step time is tp %d, pp %d, dp %d with micro-batches of %s: %s samples/s (%s to %s)%s; the bubble takes %.0f %%, communication %.0f %%.",
		orElse(j.name, "The job"), q.Workers, base.GPUType, max(c.TP, 1), max(c.PP, 1), c.Replicas(), plots.Number(c.LocalBatch),
		plots.Number(all[0].Throughput.Mean), plots.Number(all[0].Throughput.Lo), plots.Number(all[0].Throughput.Hi), fits, 100*bubble, 100*communication))
	heat, err := plots.LayoutHeat(p, q)
	if err == nil {
		fig, err = plots.NewHeatMap(heat)
	}
	s.figure(fig, err, "Each pair with its best micro-batch, sharding and recomputation; crossed where it does not fit.")
}
