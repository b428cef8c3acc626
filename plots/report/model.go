package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/plots"
	"knee/predict"
)

// reportModel adds the answer, then a figure for each question: how far the job scales,
// what that costs, which batch or layout, how well the model predicts.
func (j *job) reportModel(ctx context.Context, in *Inputs, r *Report, s *Section) error {
	given := in.PricePerHour
	if len(given) == 0 {
		given = in.studyOf(j).PricePerHour
	}
	p := &predict.Predictor{Model: j.model, Price: j.model.Prices(given)}
	conditions, err := plots.Conditions(p)
	if err != nil {
		return err
	}
	choices, err := choose(conditions)
	if err != nil {
		return err
	}
	best := choices[0]
	v, err := j.validate(ctx)
	if err != nil {
		return err
	}
	sure := best.support()
	if v != nil {
		t := v.Totals()[0]
		sure += fmt.Sprintf("; held-out measurements are predicted to %.0f %% on average (worst tenth: %.0f %% or more), and %.0f %% of %d lie inside their 90 %% interval", t.MAPE, t.P90, t.Coverage, t.N)
	}
	batch := "batch"
	if best.Layout {
		batch = "layout"
	}
	facts := []Fact{{"workers", best.workers()}, {batch, best.batch()}, {"speed", best.speed()}, {"cost", best.cost()}, {"fastest", best.fastest()}, {"how sure", sure}}
	facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Text == "" })
	r.Answers = append(r.Answers, Answer{cmp.Or(j.name, "The job"), best.name(), facts})
	if len(choices) > 1 {
		s.table(conditionTable(choices), "The knee of every GPU type and mode, at its best batch", true)
	}
	s.curves(choices)
	s.batch(best)
	if v != nil {
		fig, err := plots.NewResiduals("How well does it predict?", v)
		s.figure(fig, err, fmt.Sprintf("%d measurements, each predicted from others.", len(v.Residuals)))
	}
	s.table(parameterTable(j.model), "Fitted parameters with 90 % intervals", false)
	j.reportNext(s)
	return nil
}

// curves adds how far the job scales at the batches chosen, and what that costs. Of
// the knees only the answer, which is the first, is marked.
func (s *Section) curves(choices []choice) {
	conditions := list.Map(choices, func(c choice) plots.Condition { return c.Condition })
	spec, err := plots.ScalabilityOf(conditions, plots.Throughput)
	if err != nil {
		s.figure(nil, err, "")
		return
	}
	spec.Title = "How far does it scale?"
	for i := range spec.Series {
		spec.Series[i].Knee = nil
	}
	first, knee := &spec.Series[0], float64(choices[0].at().Config.Workers)
	if i := slices.IndexFunc(first.Curve, func(b plots.Band) bool { return b.X == knee }); i >= 0 {
		first.Knee = &plots.Knee{X: knee, Y: first.Curve[i].Mean, Note: "the answer above"}
	}
	fig, err := plots.NewScalability(spec)
	s.figure(fig, err, "Points: measured, with 95 % intervals. Bands: 90 % of the prediction; dashed where it extrapolates.")
	if spec.Quantity != plots.Throughput {
		return // without a batch there are no samples to pay for
	}
	both, err := plots.NewEfficiency(conditions)
	s.panel(both, 1, "What does it cost?", err, "For the same number of samples, ignoring statistical efficiency.")
}

// panel adds one of several panels as a figure.
func (s *Section) panel(p *plots.Panels, i int, title string, err error, caption string) {
	var c *plots.Chart
	if err == nil {
		c = p.Charts[i]
		c.Subtitle, c.Width = p.Subtitle, plots.DefaultWidth
	}
	s.chart(title, c, err, caption)
}

// chart adds a chart under a title of the page.
func (s *Section) chart(title string, c *plots.Chart, err error, caption string) {
	if err == nil {
		c.Title = title
	}
	s.figure(c, err, caption)
}

// batch adds the figure that the batch, or the layout, is chosen by.
func (s *Section) batch(c choice) {
	at := c.at().Config
	if c.Layout {
		fig, err := plots.NewHeatMap(c.Predictor, predict.LayoutQuestion{GPUType: at.GPUType, Workers: at.Workers})
		s.chart("Which layout?", fig, err, "Each pair with its best micro-batch, sharding and recomputation; crossed where it does not fit.")
		return
	}
	if lo, hi := c.Predictor.Model.BatchRange(at.GPUType, at.ModeOrDefault()); !(hi > lo) || c.GlobalBatch > 0 {
		return
	}
	both, err := plots.NewBatch(c.Predictor, at, at.LocalBatch, "the answer above")
	caption := "Goodput is throughput times statistical efficiency."
	if c.Predictor.Model.NoiseScale() == nil {
		caption = "Throughput alone: statistical efficiency is not known."
	}
	s.panel(both, 0, "Which batch?", err, caption)
}

// studyOf is the study of a job; the zero value without one.
func (in *Inputs) studyOf(j *job) *data.Study {
	if i := slices.IndexFunc(in.Studies, func(s *data.Study) bool { return s.Job == j.name }); i >= 0 {
		return in.Studies[i]
	}
	return &data.Study{}
}

// validate predicts at most mostChecked measurements from one another; nil if there are
// fewer than four. Its only error is that of ctx.
func (j *job) validate(ctx context.Context) (*predict.Validation, error) {
	rows := slices.DeleteFunc(slices.Clone(j.measurements), func(m data.Measurement) bool { return m.Status != data.OK })
	if len(j.measurements) == 0 {
		rows = j.model.AllMeasurements()
	}
	if len(rows) < 4 {
		return nil, nil
	}
	if n := len(rows); n > mostChecked {
		for i := range mostChecked {
			rows[i] = rows[i*n/mostChecked]
		}
		rows = rows[:mostChecked]
	}
	v, err := predict.Validate(ctx, rows, nil, predict.ValidationSettings{Seed: predict.DefaultSeed})
	if err != nil {
		return nil, ctx.Err()
	}
	return v, nil
}

// reportNext recommends the next measurement, except for layouts.
func (j *job) reportNext(s *Section) {
	if len(j.model.Layouts(j.model.GPUTypes()[0])) > 0 {
		return
	}
	gains, err := predict.Gains(j.model)
	if err == nil && len(gains) > 0 {
		s.Text = append(s.Text, "What one more measurement would buy: "+gains[0].String()+".")
	}
}

func parameterTable(m *fit.Model) *Table {
	t := newTable("GPU type", "mode", "family", "parameter", "#value", "#from", "#to", "unit")
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			family, params := m.Parameters(gpu, mode)
			for _, p := range params {
				t.row(gpu, mode, family, p.Name, p.Value.Mean, p.Value.Lo, p.Value.Hi, p.Unit)
			}
		}
	}
	return t
}

// reportCurve adds the training curve of a job with its fit.
func (j *job) reportCurve(s *Section) {
	if !slices.ContainsFunc(j.curve, func(p data.CurvePoint) bool { return !math.IsNaN(p.Loss) || !math.IsNaN(p.Metric) }) {
		return // of gradients alone
	}
	points, initial, about := j.curve, 0., "All runs, and their expected course if training continues."
	batches, _ := grouped.By(points, func(p data.CurvePoint) float64 { return p.GlobalBatch })
	if batches = slices.DeleteFunc(batches, func(b float64) bool { return !(b > 0) }); len(batches) > 1 {
		initial = slices.Min(batches)
		by := fmt.Sprintf("in steps of %s", plots.Number(initial))
		if j.model != nil && j.model.NoiseScale() != nil {
			by, initial = "by statistically equal steps", j.model.NoiseScale().InitialBatch
			points, _ = j.model.NoiseScale().WithProgress(points, nil)
		}
		about = fmt.Sprintf("All runs, with batches of %s to %s samples, %s, and their expected course if training continues.",
			plots.Number(slices.Min(batches)), plots.Number(slices.Max(batches)), by)
	}
	c, err := convergence.Fit(points, initial, convergence.Settings{})
	if err != nil {
		s.Text = append(s.Text, "The training curve could not be fitted: "+err.Error())
		return
	}
	fig, _, err := plots.NewConvergence(c, points, initial, nil)
	s.chart("How far is the training?", fig, err, about)
}

// reportTrials adds the progress and table of all that was measured, and says what failed.
func (j *job) reportTrials(r *Report, s *Section) {
	if len(j.measurements) == 0 {
		return
	}
	status := func(m data.Measurement) data.Status { return m.Status }
	_, by := grouped.By(j.measurements, status)
	ok := len(by[data.OK])
	if failed := plots.CountFailed(j.measurements, status); failed != "" {
		r.Findings = append(r.Findings, fmt.Sprintf("%s: %d of %d trials gave no measurement (%s).",
			cmp.Or(j.name, "The job"), len(j.measurements)-ok, len(j.measurements), failed))
	}
	if ok == 0 {
		s.Text = append(s.Text, "No trial gave a measurement.")
	} else if len(j.measurements) > 2 {
		fig, err := plots.NewSearch("What was tried", j.measurements)
		s.figure(fig, err, "All trials in order, and the highest so far.")
	}
	s.table(trialTable(j.measurements), cut(len(j.measurements), "Trials, in order"), false)
}

func trialTable(ms []data.Measurement) *Table {
	t := newTable("#trial", "configuration", "#step time (s)", "#samples/s", "status", "error")
	named := slices.Clone(ms)
	data.SizesAsKnobs(named, data.VariedSizes(named))
	for i, m := range named[:min(len(ms), mostRows)] {
		var step, rate any = "", ""
		if m.Status == data.OK {
			step, rate = m.StepTime, m.Throughput()
		}
		t.row(i+1, m.Config.String(), step, rate, m.Status, m.Error)
	}
	return t
}
