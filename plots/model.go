package plots

import (
	"cmp"
	"fmt"
	"slices"

	"knee/data"
	"knee/predict"
)

// ScalabilityOf predicts a curve for every condition, with its knee and the
// measurements that lie on it. Curves are named by what they differ in; what they
// share is the subtitle. Goodput has no measured points. If a condition has no
// batch, the quantity is Speed.
func ScalabilityOf(all []Condition, q Quantity) (Scalability, error) {
	s := Scalability{Title: "Scalability of " + jobsOf(all), Quantity: q, Ideal: true}
	for _, c := range all {
		if c.Base.LocalBatch == 0 && c.GlobalBatch == 0 && !c.Layout {
			s.Quantity = Speed
		}
	}
	names, shared := namesOf(all)
	s.Subtitle = shared
	for i, c := range all {
		answers, err := c.Answers()
		if err != nil {
			return s, err
		}
		series, err := seriesOf(c, answers, s.Quantity)
		if err != nil {
			return s, err
		}
		series.Name = names[i]
		s.Series = append(s.Series, series)
	}
	return s, nil
}

// jobsOf names the jobs of the conditions.
func jobsOf(all []Condition) string {
	var jobs []string
	seen := map[string]bool{}
	for _, c := range all {
		if job := cmp.Or(c.Predictor.Model.Job(), "the job"); !seen[job] {
			seen[job] = true
			jobs = append(jobs, job)
		}
	}
	return joinWords(jobs, "and")
}

// seriesOf is a curve with what was measured on it.
func seriesOf(c Condition, answers []predict.Answer, q Quantity) (Series, error) {
	var s Series
	for _, a := range answers {
		s.Curve = append(s.Curve, BandOf(float64(a.Config.Workers), estimateOf(a, q), a.Extrapolated))
	}
	shown := func(a predict.Answer) float64 { return estimateOf(a, q).Mean }
	// A curve that still rises at its end has its knee further on, if anywhere.
	if i := predict.KneeOf(answers, shown); i >= 0 && i < len(answers)-1 {
		s.Knee = &Knee{X: float64(answers[i].Config.Workers), Y: shown(answers[i])}
		if answers[i].Extrapolated {
			s.Knee.Note = "knee, extrapolated: " + amount(s.Knee.X, "workers")
		}
	}
	if q == Goodput { // measurements have none
		return s, nil
	}
	var err error
	s.Points, err = MeasuredPoints(c.Measured(), q)
	return s, err
}

// estimateOf is the part of an answer that a figure shows.
func estimateOf(a predict.Answer, q Quantity) data.Estimate {
	switch q {
	case Goodput:
		return a.Goodput
	case Speed:
		return a.StepTime.Per(1)
	}
	return a.Throughput
}

// EfficiencyOf predicts scaling efficiency and cost under every condition, each of
// which needs a batch. The cost of a million samples is in US$ if every GPU type has
// a price, else in worker-hours.
func EfficiencyOf(all []Condition) (Efficiency, error) {
	e := Efficiency{Title: "What scaling costs: " + jobsOf(all), Unit: "US$"}
	for _, c := range all {
		if !(c.Predictor.Price[c.Base.GPUType] > 0) {
			e.Unit = "worker-hours"
		}
	}
	rates, err := ScalabilityOf(all, Throughput)
	if err != nil {
		return e, err
	}
	if rates.Quantity != Throughput {
		return e, bad("throughput", "no batch", "a batch, to turn steps into samples")
	}
	e.Subtitle = rates.Subtitle
	for i, s := range rates.Series {
		one := s.Curve[0].Mean / s.Curve[0].X // of one worker at the fewest workers
		hour := 1e6 / 3600                    // of a worker for a million samples at one sample per second
		if e.Unit == "US$" {
			hour *= all[i].Predictor.Price[all[i].Base.GPUType]
		}
		s.Knee = nil
		e.Scaling = append(e.Scaling, s.mapped(func(k, v float64) float64 { return 100 * v / (k * one) }))
		e.Cost = append(e.Cost, s.mapped(func(k, v float64) float64 { return hour * k / v }))
	}
	return e, nil
}

// LayoutHeat is the throughput over the degrees of tensor and pipeline
// parallelism of one number of workers, with the best micro-batch, sharding and
// recomputation for each pair; pairs that do not fit in memory are crossed.
func LayoutHeat(p *predict.Predictor, q predict.LayoutQuestion) (HeatMap, error) {
	all, err := p.Layouts(q)
	if err != nil {
		return HeatMap{}, err
	}
	h := HeatMap{Title: "Layouts of " + p.Model.Job(), Subtitle: fmt.Sprintf("%d × %s, %g samples per step", q.Workers, q.GPUType, p.LayoutBatch(q)),
		XLabel: "tensor-parallel degree", YLabel: "pipeline stages", Label: "samples/s at the expected step time"}
	degrees := func(c data.Config) [2]float64 { return [2]float64{float64(max(c.TP, 1)), float64(max(c.PP, 1))} }
	measured, seen := map[[2]float64]bool{}, map[[2]float64]bool{}
	for _, m := range p.Model.Layouts(q.GPUType) {
		if m.Workers == q.Workers {
			measured[degrees(m.Config)] = true
		}
	}
	for i, a := range all {
		at := degrees(a.Config)
		if !seen[at] { // the fastest come first
			seen[at] = true
			h.Cells = append(h.Cells, Cell{X: at[0], Y: at[1], Value: p.LayoutBatch(q) / a.Expected, Measured: measured[at], Best: i == 0})
		}
	}
	q.LeastFits = -1
	everything, err := p.Layouts(q)
	for _, a := range everything {
		if at := degrees(a.Config); !seen[at] {
			seen[at] = true
			h.Cells = append(h.Cells, Cell{X: at[0], Y: at[1], Failed: true})
		}
	}
	return h, err
}

// SpeedOf is the speed of a parameter-server job at one local batch: over
// workers at each measured number of ps or, overPS, over ps at each measured
// number of workers, the two figures Optimus fits its models to (EuroSys'18,
// Fig. 9).
func SpeedOf(c Condition, overPS bool) (Scalability, error) {
	p, base := c.Predictor, c.Base
	s := Scalability{Title: p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s, %s samples per worker", base.GPUType, base.Mode, Number(base.LocalBatch)),
		Quantity: Speed, Y: LinearScale} // a logarithm flattens the fall after the peak
	workers, servers := predict.Sizes(p.Model, base.GPUType, base.Mode)
	rows := p.Model.Measurements(base.GPUType, base.Mode)
	axes := func(c *data.Config) (moves, stays *int) { return &c.Workers, &c.PS }
	xs, fixed, unit := workers, servers, "ps"
	if overPS {
		workers = slices.DeleteFunc(workers, func(k int) bool {
			return !slices.ContainsFunc(rows, func(m data.Measurement) bool { return m.Workers == k })
		})
		s.XLabel, xs, fixed, unit = "ps (parameter servers)", servers, workers, "workers"
		axes = func(c *data.Config) (moves, stays *int) { return &c.PS, &c.Workers }
	}
	for _, n := range fixed {
		series := Series{Name: fmt.Sprintf("%d %s", n, unit)}
		for _, row := range rows {
			moves, stays := axes(&row.Config)
			if *stays != n || row.LocalBatch != base.LocalBatch {
				continue
			}
			pts, err := MeasuredPoints([]data.Measurement{row}, Speed)
			if err != nil {
				return s, err
			}
			pts[0].X = float64(*moves)
			series.Points = append(series.Points, pts[0])
		}
		for _, x := range xs {
			at := base
			moves, stays := axes(&at)
			*moves, *stays = x, n
			a, err := p.At(at)
			if err != nil {
				return s, err
			}
			series.Curve = append(series.Curve, BandOf(float64(x), a.StepTime.Per(1), a.Extrapolated))
		}
		s.Series = append(s.Series, series)
	}
	return s, nil
}
