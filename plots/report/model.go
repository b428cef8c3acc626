package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

// reportModel adds what the model of a job says: for every GPU type and mode
// its scalability, what scaling costs and the choice of batch, then how far
// the model can be trusted.
func (j *job) reportModel(ctx context.Context, in *Inputs, r *Report, s *Section) error {
	p := &predict.Predictor{Model: j.model, Price: in.PricePerHour}
	bases, err := plots.TypicalConfigs(p)
	if err != nil {
		return err
	}
	bases = slices.DeleteFunc(bases, func(base data.Config) bool {
		layouts := j.model.Layouts(base.GPUType) != nil && base.ModeOrDefault() == data.AllReduce
		if layouts {
			j.reportLayouts(p, base, r, s)
		}
		return layouts
	})
	if len(bases) == 0 {
		return j.reportTrust(ctx, r, s)
	}
	overlay := plots.Scalability{Title: "Scalability of " + orElse(j.name, "the job"), Quantity: plots.Throughput, Ideal: true}
	for _, base := range bases {
		if base.LocalBatch == 0 {
			overlay.Quantity = plots.Speed
		}
	}
	for _, base := range bases {
		workers, _ := predict.Sizes(j.model, base.GPUType, base.ModeOrDefault())
		series, err := plots.ModelSeries(p, base, workers, overlay.Quantity)
		if err != nil {
			return err
		}
		overlay.Series = append(overlay.Series, series)
		answers, err := predict.Sweep(p, base, workers)
		if err != nil {
			return err
		}
		if f := kneeFinding(j.name, base, answers); f != "" {
			r.Findings = append(r.Findings, f)
		}
	}
	fig, err := plots.NewScalability(overlay)
	s.figure(fig, err, "Measured points with 95 % intervals, the fit with its 90 % band; dashed where it extrapolates.")
	for _, base := range bases {
		// Of a single measurement there is a curve, but nothing to choose by.
		if len(j.model.Measurements(base.GPUType, base.ModeOrDefault())) > 1 {
			j.reportChoice(p, base, s)
		}
	}
	return j.reportTrust(ctx, r, s)
}

// reportChoice adds the figures that help to choose a size and a batch.
func (j *job) reportChoice(p *predict.Predictor, base data.Config, s *Section) {
	workers, _ := predict.Sizes(j.model, base.GPUType, base.ModeOrDefault())
	if base.LocalBatch > 0 {
		spec, err := plots.EfficiencyOf(p, base, workers)
		if err == nil {
			var fig *plots.Panels
			fig, err = plots.NewEfficiency(spec)
			s.figure(fig, err, "Left: how much of linear scaling is left. Right: what the same work costs.")
		}
	}
	if lo, hi := j.model.BatchRange(base.GPUType, base.ModeOrDefault()); hi > lo {
		at := base
		if answers, err := predict.Sweep(p, base, workers); err == nil {
			if i := predict.Knee(answers); i >= 0 {
				at.Workers = answers[i].Config.Workers
			}
		}
		if at.Workers == 0 {
			at.Workers = 1
		}
		spec, err := plots.BatchOf(p, at)
		if err == nil {
			var fig *plots.Panels
			fig, err = plots.NewBatch(spec)
			caption := "Larger batches raise the throughput and lower what each sample is worth."
			if j.model.NoiseScale() == nil {
				caption = "Without gradient statistics every sample counts as much as at the smallest batch: add a training curve with grad_sqr and grad_var."
			}
			s.figure(fig, err, caption)
		}
	}
	heat, err := plots.HeatOf(p, base)
	if err == nil && len(heat.Cells) > 3 {
		var fig plots.Figure
		fig, err = plots.NewHeatMap(heat)
		s.figure(fig, err, "")
	}
}

// kneeFinding says where the knee is, what is lost there and what the next
// doubling brings.
func kneeFinding(job string, base data.Config, answers []predict.Answer) string {
	rate, what := func(a predict.Answer) float64 { return a.Goodput.Mean }, "speed"
	if slices.ContainsFunc(answers, func(a predict.Answer) bool { return a.Goodput.Mean < .999*a.Throughput.Mean }) {
		what = "goodput" // larger batches make a sample worth less
	}
	if !(answers[0].Goodput.Mean > 0) {
		rate = func(a predict.Answer) float64 { return 1 / a.StepTime.Mean }
	}
	i := predict.KneeOf(answers, rate)
	if i < 0 {
		return ""
	}
	k := answers[i].Config.Workers
	share := rate(answers[i]) / rate(answers[0]) / float64(k) * float64(answers[0].Config.Workers)
	where := fmt.Sprintf("%s on %s", orElse(job, "The job"), modeWords(base))
	var b strings.Builder
	switch {
	case i == len(answers)-1:
		fmt.Fprintf(&b, "%s still scales at %d workers, the most that were looked at: %.0f %% of linear.", where, k, 100*share)
		return b.String()
	case k == answers[0].Config.Workers:
		fmt.Fprintf(&b, "%s does not pay to scale beyond %d worker%s", where, k, plural(k))
	default:
		fmt.Fprintf(&b, "%s has its knee at %d workers: %.0f %% of linear", where, k, 100*share)
	}
	for _, a := range answers {
		if a.Config.Workers == 2*k {
			change := 100 * (rate(a)/rate(answers[i]) - 1)
			verb := "adds"
			if change < 0 {
				verb = "takes away"
			}
			fmt.Fprintf(&b, "; the next doubling %s %.0f %% %s for 100 %% more workers", verb, math.Abs(change), what)
			if a.Extrapolated {
				b.WriteString(" (extrapolated)")
			}
		}
	}
	return b.String() + "."
}

// modeWords names GPU type, mode and batch of a curve.
func modeWords(c data.Config) string {
	s := fmt.Sprintf("%s (%s", c.GPUType, c.ModeOrDefault())
	if c.PS > 0 {
		s += fmt.Sprintf(", %d ps", c.PS)
	}
	if c.LocalBatch > 0 {
		s += fmt.Sprintf(", %s samples per worker", plots.Number(c.LocalBatch))
	}
	return s + ")"
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// mostFolds bounds how many fits the check of a model may take.
const mostFolds = 20

// reportTrust adds how well the model predicts what it has not seen, its
// parameters, and what one more measurement would buy.
func (j *job) reportTrust(ctx context.Context, r *Report, s *Section) error {
	var rows []data.Measurement
	for _, gpu := range j.model.GPUTypes() {
		for _, mode := range j.model.Modes(gpu) {
			rows = append(rows, j.model.Measurements(gpu, mode)...)
		}
	}
	if len(rows) >= 4 {
		v, err := predict.Validate(ctx, rows, nil, predict.ValidationSettings{Method: predict.KFold, Folds: min(mostFolds, len(rows))})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			t := v.Totals()[0]
			r.Findings = append(r.Findings, fmt.Sprintf("%s: measurements that were held out are predicted to %.1f %% on average (worst tenth: %.0f %% or more); %.0f %% lie inside their 90 %% interval.",
				orElse(j.name, "The job"), t.MAPE, t.P90, t.Coverage))
			fig, err := plots.NewResiduals(plots.ResidualsOf(v, "How well it predicts what it has not seen", false))
			s.figure(fig, err, "")
		}
	}
	s.add(Block{Table: parameterTable(j.model), Caption: "Fitted parameters with 90 % intervals"})
	if len(j.model.Layouts(j.model.GPUTypes()[0])) > 0 {
		return nil // which layouts are worth a look, predict says
	}
	gains, err := predict.Gains(ctx, j.model, fit.Settings{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && len(gains) > 0 {
		s.Text = append(s.Text, "What one more measurement would buy: "+gains[0].String()+".")
	}
	if n := j.model.NoiseScale(); n != nil {
		r.Findings = append(r.Findings, fmt.Sprintf("%s: the gradient noise scale is %s samples; at that global batch a sample is worth %.0f %% of one at the initial batch of %s.",
			orElse(j.name, "The job"), plots.Number(n.Phi.Mean), 100*n.Efficiency(n.Phi.Mean).Mean, plots.Number(n.InitialBatch)))
	}
	return nil
}

func parameterTable(m *fit.Model) *Table {
	t := &Table{Columns: append(append(columns("GPU type", "mode", "family", "parameter"), numeric("value", "from", "to")...), columns("unit")...)}
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			family, params := m.Parameters(gpu, mode)
			for _, p := range params {
				t.row(text(gpu), text(string(mode)), text(family), text(p.Name), figures(p.Value.Mean), figures(p.Value.Lo), figures(p.Value.Hi), text(p.Unit))
			}
		}
	}
	return t
}

// figures is a number in a table.
func figures(v float64) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return amount(v, "–")
	}
	return amount(v, plots.Plain(v))
}
