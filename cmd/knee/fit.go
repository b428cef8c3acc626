package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/term"
	"knee/predict"
)

func newFit(a *app) *cobra.Command {
	var settings fit.Settings
	var job, pool, file string
	var curve curveFlags
	var cluster []string
	var noAdvice bool
	var columns map[string]string
	cmd := answering("fit MEASUREMENTS.csv...", func(cmd *cobra.Command, args []string, out format) error {
		ms, err := a.rows(data.Import{Columns: columns, Given: map[string]string{"job": job}, Repeats: mostRepeats}, job, args...)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			return badFile(strings.Join(args, ", "), "no rows", "measurements to fit")
		}
		points, err := a.curves(curve.file)
		if err != nil {
			return err
		}
		for i := range ms {
			if pool != "" {
				ms[i].Job = pool
			}
		}
		for _, path := range cluster {
			other, err := readModel(path)
			if err != nil {
				return err
			}
			settings.Others = append(settings.Others, other.Model)
		}
		bar := a.progress()
		defer bar.Close()
		bar.Busy(fmt.Sprintf("fitting %d measurements", len(ms)))
		m, err := fit.FitContext(cmd.Context(), ms, settings)
		bar.Close()
		if input, ok := errors.AsType[*data.InputError](err); ok && input.Column == "job" {
			input.Want += "; --job NAME chooses one"
		}
		if err != nil {
			return err
		}
		if err := curve.add(cmd, a, m, points); err != nil {
			return err
		}
		bar.Busy("holding measurements out of every family")
		res, err := newFitResult(cmd.Context(), m)
		if err != nil {
			return err
		}
		if err := fit.WriteModel(file, m); err != nil {
			return err
		}
		if !noAdvice {
			bar.Busy("weighing what one more measurement would buy")
			if err := res.advise(m); err != nil {
				return err
			}
		}
		bar.Close()
		a.warn(m.Warnings()...)
		if err := res.print(a.stdout, out); err != nil {
			return err
		}
		a.note("model of %s in %s", m.Job(), file)
		return nil
	})
	fileFlag(cmd, &curve.file, "curve", "training curves, for convergence and efficiency", "csv", "gz")
	bounded(cmd, &curve.initialBatch, "initial-batch", "global batch at efficiency 1 (default: the smallest in the curves)", positive("samples"))
	bounded(cmd, &curve.dataset, "dataset", "samples of an epoch, for curves without steps", positive("samples"))
	curve.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "model.json", "file for the model")
	named(cmd, &settings.Family, "family", fit.Auto, "form", append([]string{fit.Auto}, fit.FamilyNames()...))
	f.StringVar(&job, "job", "", "which of several jobs; its name where the file has no column job")
	f.StringVar(&pool, "pool", "", "common name of several sizes of a model")
	f.StringToStringVar(&columns, "columns", nil, columnsUsage)
	f.Int64Var(&settings.Seed, "seed", predict.DefaultSeed, "seed of random draws")
	f.StringSliceVar(&cluster, "cluster", nil, "models of other jobs on the same machines")
	bounded(cmd, &settings.Interconnect, "interconnect", "bytes/s between two nodes, such as 12.5G", amounts())
	bounded(cmd, &settings.MessageBytes, "message-bytes", "bytes of a synchronisation, such as 102M (4 × parameters)", amounts())
	cmd.MarkFlagsRequiredTogether("interconnect", "message-bytes")
	f.BoolVar(&noAdvice, "no-advice", false, "do not recommend the next measurement")
	return cmd
}

// mostRepeats bounds the repeats used: the mean of 100 has a tenth of their deviation.
const mostRepeats = 100

type curveFlags struct {
	file, family                   string
	reach                          convergence.Reach
	initialBatch, planned, dataset float64
	milestones                     []float64
	finished                       []string
}

func (f *curveFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	oneOf(cmd, &f.family, "curve-family", "form", fit.Auto, convergence.Optimus)
	bounded(cmd, &f.planned, "planned-epochs", "planned length of the run", positive("epochs"))
	fl.Float64SliceVar(&f.milestones, "milestones", nil, "epochs with a cut of the learning rate, such as 30,60")
	choose(cmd, &f.reach, "reach", "what meets a target: first or smooth (default: first for metrics of epochs, smooth for losses of steps)", string(convergence.First), string(convergence.Smooth))
	fl.StringSliceVar(&f.finished, "finished-run", nil, "curves of finished runs with the same schedule")
}

// add fits the convergence of a model to the curves of its job, if there are any.
func (f *curveFlags) add(cmd *cobra.Command, a *app, m *fit.Model, points []data.CurvePoint) error {
	if f.file == "" {
		for _, flag := range []string{"initial-batch", "dataset", "curve-family", "planned-epochs", "milestones", "reach", "finished-run"} {
			if cmd.Flags().Changed(flag) {
				return usageError("--%s: want --curve with it", flag)
			}
		}
		return nil
	}
	s, err := f.settings(a)
	if err != nil {
		return err
	}
	other := func(p data.CurvePoint) bool { return p.Job != "" && p.Job != m.Job() }
	if kept := slices.DeleteFunc(slices.Clone(points), other); len(kept) > 0 {
		points = kept
	}
	if err := m.AddCurve(points, data.Batch{Initial: f.initialBatch}, s); err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	return nil
}

func (f *curveFlags) settings(a *app) (convergence.Settings, error) {
	s := convergence.Settings{Family: f.family, PlannedEpochs: f.planned, Dataset: f.dataset, Milestones: f.milestones, Reach: f.reach}
	if i := slices.IndexFunc(f.milestones, func(m float64) bool { return !(m > 0) }); i >= 0 {
		return s, badFile("--milestones", fmt.Sprint(f.milestones[i]), "epochs above 0")
	}
	for _, path := range f.finished {
		run, err := a.curves(path)
		if err != nil {
			return s, err
		}
		s.Templates = append(s.Templates, run)
	}
	return s, nil
}

type fitResult struct {
	Job        string      `json:"job"`
	Parameters []parameter `json:"parameters"`
	Families   []family    `json:"families"`
	Advice     []advice    `json:"advice,omitempty"`
	Warnings   []string    `json:"warnings"`
}

// family holds the errors of a family on held-out measurements; nil: too few for that.
type family struct {
	GPUType     string    `json:"gpu_type"`
	Mode        data.Mode `json:"mode"`
	Family      string    `json:"family"`
	LeaveOneOut *float64  `json:"leave_one_out"` // percent
	Forward     *float64  `json:"forward"`       // percent
	Used        bool      `json:"used"`
	Warnings    []string  `json:"warnings,omitempty"`
}

type advice struct {
	predict.Gain
	Words string `json:"words"`
}

func newFitResult(ctx context.Context, m *fit.Model) (fitResult, error) {
	scores, err := m.Compare(ctx)
	res := fitResult{Job: m.Job(), Parameters: parametersOf(m), Warnings: append([]string{}, m.Warnings()...)}
	for _, s := range scores {
		res.Families = append(res.Families, family{s.GPUType, s.Mode, s.Family, known(s.LeaveOneOut), known(s.Forward), s.Chosen, s.Warnings})
	}
	return res, err
}

// known returns nil for NaN and infinity, which JSON cannot hold.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (r *fitResult) advise(m *fit.Model) error {
	if hasLayouts(m) {
		return nil // knee predict --best says which layouts are worth a look
	}
	gains, err := predict.Gains(m)
	for _, g := range gains {
		r.Advice = append(r.Advice, advice{g, g.String()})
	}
	return err
}

// print writes the result; as text, one table after the other.
func (r fitResult) print(w io.Writer, out format) error {
	if err := out.print(w, r, parameterTable(r.Parameters)); err != nil || out == "json" || out == "csv" {
		return err
	}
	fmt.Fprintln(w)
	if err := out.print(w, nil, r.familyTable()); err != nil {
		return err
	}
	for i, a := range r.Advice {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat one more measurement would buy, most per worker first:")
		}
		if _, err := fmt.Fprintln(w, term.Hanging(w, "- "+a.Words)); err != nil {
			return err
		}
	}
	return nil
}

func (r fitResult) familyTable() *table {
	t := newTable("gpu_type,mode,family,leave_one_out,forward,used,warning") // an empty column is not shown
	percentage := func(v *float64) string {
		if v == nil {
			return "–"
		}
		if *v > 1000 {
			return "> 1000 %"
		}
		return fmt.Sprintf("%.1f %%", *v)
	}
	for _, f := range r.Families {
		used := map[bool]string{true: "yes"}[f.Used]
		t.add(f.GPUType, f.Mode, f.Family, percentage(f.LeaveOneOut), percentage(f.Forward), used, strings.Join(f.Warnings, "; "))
	}
	return t
}

type parameter struct {
	GPUType   string        `json:"gpu_type"`
	Mode      data.Mode     `json:"mode"`
	Family    string        `json:"family"`
	Parameter string        `json:"parameter"`
	Value     data.Estimate `json:"value"`
	Unit      string        `json:"unit"`
}

func parametersOf(m *fit.Model) []parameter {
	var ps []parameter
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			family, params := m.Parameters(gpu, mode)
			for _, p := range params {
				ps = append(ps, parameter{gpu, mode, family, p.Name, p.Value, p.Unit})
			}
		}
	}
	if n := m.NoiseScale(); n != nil {
		ps = append(ps, parameter{Family: "gradient-noise", Parameter: "noise_scale", Value: n.Phi, Unit: "samples"})
	}
	return ps
}

func parameterTable(ps []parameter) *table {
	t := newTable("gpu_type,mode,family,parameter,value,lo,hi,unit", "parameter,value,lo,hi,unit")
	for _, p := range ps {
		head := p.Family
		if p.Mode != "" {
			head = data.Config{GPUType: p.GPUType, Mode: p.Mode}.Kind() + ": " + p.Family
		}
		t.people.addUnder(head, p.Parameter, p.Value.Mean, p.Value.Lo, p.Value.Hi, p.Unit)
		t.add(p.GPUType, p.Mode, p.Family, p.Parameter, p.Value.Mean, p.Value.Lo, p.Value.Hi, p.Unit)
	}
	return t
}
