package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/internal/list"
	"knee/operate/check"
	"knee/profile/joblog"
	"knee/profile/launch"
)

type readFlags struct {
	metrics data.Metrics
	columns map[string]string
	add     bool
	output  string
}

func newRead(a *app) *cobra.Command {
	var in readFlags
	cmd := command("read FILE", func(cmd *cobra.Command, args []string) error {
		if in.add && in.output == "-" {
			return usageError("--add: want --file, to append to")
		}
		ms, err := a.read(args[0], in, givenColumns(cmd))
		if err != nil {
			return err
		}
		if in.add {
			before, err := a.rows(data.Import{}, "", in.output)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			ms = append(before, ms...)
		}
		if in.output == "-" {
			return data.WriteMeasurements(a.stdout, ms)
		}
		if err := data.WriteFile(in.output, func(w io.Writer) error { return data.WriteMeasurements(w, ms) }); err != nil {
			return err
		}
		a.note("%s in %s", english.Plural(len(ms), "measurement", ""), in.output)
		return nil
	})
	f := cmd.Flags()
	logFlags(cmd, &in.metrics)
	f.StringToStringVar(&in.columns, "columns", nil, columnsUsage)
	f.StringVarP(&in.output, "file", "f", "-", "file to write; - for standard output")
	f.BoolVar(&in.add, "add", false, "append to the file")
	columns := map[string]string{}
	for _, name := range jobColumns() {
		columns[name] = "this column, for every row"
	}
	columnFlags(cmd, columns)
	cmd.MarkFlagsMutuallyExclusive("pattern", "regex", "columns")
	return cmd
}

func logFlags(cmd *cobra.Command, m *data.Metrics) {
	named(cmd, &m.Pattern, "pattern", "", "format of the log", data.MetricPatterns())
	cmd.Flags().StringVar(&m.Regex, "regex", "", "expression for lines of the log, with groups such as (?P<step_time_s>…): "+strings.Join(data.MetricQuantities(), ", "))
}

func jobColumns() []string {
	return append([]string{"job", "gpu_type", "mode", "placement", "nodes", "workers", "ps", "local_batch", "global_batch", "accum_steps", "micro_steps", "seq_len"}, data.LayoutNames()...)
}

func flagOf(column string) string { return strings.ReplaceAll(column, "_", "-") }

func columnFlags(cmd *cobra.Command, usage map[string]string) {
	for column, text := range usage {
		cmd.Flags().String(flagOf(column), "", text)
	}
}

func givenColumns(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	for _, column := range jobColumns() {
		if f := cmd.Flags().Lookup(flagOf(column)); f != nil && f.Changed {
			given[column] = f.Value.String()
		}
	}
	return given
}

func (a *app) read(file string, in readFlags, given map[string]string) ([]data.Measurement, error) {
	if len(in.columns) > 0 || isCSV(file) {
		return a.rows(data.Import{Columns: in.columns, Given: given}, "", file)
	}
	if given["seq_len"] != "" {
		return nil, usageError("--seq-len is about a CSV of tokens/s; a log is read for its steps")
	}
	for _, need := range []string{"job", "workers"} {
		if given[need] == "" && !(need == "workers" && given["placement"] != "") {
			return nil, usageError("--%s: want a value, as a log does not say it", need)
		}
	}
	config, err := configOf(given)
	if err != nil {
		return nil, err
	}
	p, err := readLog(file, config, in.metrics, nil)
	if err = cmp.Or(err, p.Untimed); err != nil {
		return nil, err
	}
	if p.Pattern != "" {
		a.note("read as --pattern %s", p.Pattern)
	}
	if p.Measurement.Error != "" {
		a.warn(file + ": " + p.Measurement.Error)
	}
	if config.LocalBatch == 0 {
		a.warn(fmt.Sprintf("%s: without --local-batch or --global-batch only steps/s are known, not samples/s", file))
	}
	return []data.Measurement{p.Measurement}, nil
}

// readLog reads the log of a job, and calls each with what every line says.
func readLog(file string, c data.Config, m data.Metrics, each func(launch.Observation)) (joblog.Progress, error) {
	f, err := data.Open(file)
	if err != nil {
		return joblog.Progress{}, err
	}
	defer f.Close()
	return joblog.Read(f, file, c, m, each)
}

func isCSV(file string) bool {
	plain := strings.TrimSuffix(file, ".gz")
	return strings.HasSuffix(plain, ".csv") || strings.HasSuffix(plain, ".tsv")
}

// configOf reads the configuration of a job from flags, as from columns.
func configOf(given map[string]string) (data.Config, error) {
	names := slices.Sorted(maps.Keys(given))
	cells := list.Map(names, func(name string) string { return given[name] })
	var table bytes.Buffer
	if err := csv.NewWriter(&table).WriteAll([][]string{names, cells}); err != nil {
		return data.Config{}, err
	}
	rows, _, err := data.ReadConfigs(&table, "")
	if input, ok := errors.AsType[*data.InputError](err); ok {
		input.Source = data.Source{File: "--" + flagOf(input.Column)}
	}
	if err != nil {
		return data.Config{}, err
	}
	return rows[0].Config, nil
}

type checkFlags struct {
	metrics data.Metrics
	model   string
	given   map[string]string // columns of the configuration
	fail    []string
}

var findings = []string{check.Straggler, check.Silent, "drift"}

func newCheck(a *app) *cobra.Command {
	var f checkFlags
	cmd := answering("check FILE", func(cmd *cobra.Command, args []string, out format) error {
		f.given = givenColumns(cmd)
		for _, name := range f.fail {
			if !slices.Contains(findings, name) {
				return usageError("--fail-if %q: want %s", name, strings.Join(findings, ", "))
			}
		}
		res, err := f.run(a, args[0])
		if err != nil {
			return err
		}
		res.Workers, res.Drift = append([]check.Worker{}, res.Workers...), append([]driftOf{}, res.Drift...) // [], not null
		if err := out.print(a.stdout, res, res.table()); err != nil {
			return err
		}
		return f.found(res)
	})
	fileFlag(cmd, &f.model, "model", "model.json of the job", "json")
	columnFlags(cmd, map[string]string{"gpu_type": "GPU type (default: the model's)", "mode": "allreduce, ps-sync or ps-async (default: the model's)",
		"placement": "workers per node, such as 4-4", "workers": "workers (default: those in the file)", "ps": "parameter servers",
		"local_batch": "samples per worker (default: the model's)", "accum_steps": "extra gradient-accumulation steps"})
	cmd.Flags().StringSliceVar(&f.fail, "fail-if", nil, "exit with 3 on any of: "+strings.Join(findings, ", "))
	logFlags(cmd, &f.metrics)
	cmd.MarkFlagsMutuallyExclusive("placement", "workers")
	cmd.MarkFlagsMutuallyExclusive("pattern", "regex")
	return cmd
}

type checkResult struct {
	Workers []check.Worker `json:"workers"`
	Drift   []driftOf      `json:"drift"`
}

type driftOf struct {
	Config data.Config `json:"config"`
	check.Drift
	name string // of the configuration, apart from others compared
}

func (f checkFlags) run(a *app, file string) (res checkResult, err error) {
	var m *fit.Model
	if f.model != "" {
		if m, err = readModel(f.model); err != nil {
			return res, err
		}
	}
	measurements, err := isMeasurements(file)
	switch {
	case err != nil:
		return res, err
	case measurements && m == nil:
		return res, usageError("%s: measurements are compared with a model: want --model", file)
	case measurements:
		return f.rows(a, file, m)
	}
	steps, measured, err := f.steps(a, file)
	if err != nil {
		return res, err
	}
	res.Workers = check.Workers(steps)
	if m == nil {
		return res, nil
	}
	c, err := f.config(max(1, len(res.Workers)))
	if err != nil {
		return res, err
	}
	if c, err = m.Resolve(c); err != nil {
		return res, fmt.Errorf("%s: %w", f.model, err)
	}
	return res, res.hold(a, f.model, m, c, c.String(), cmp.Or(measured, check.StepTime(steps, c.ModeOrDefault())))
}

// isMeasurements reports whether a CSV has a column workers or placement, and no worker.
func isMeasurements(file string) (bool, error) {
	if !isCSV(file) {
		return false, nil
	}
	in, err := data.Open(file)
	if err != nil {
		return false, err
	}
	defer in.Close()
	t, err := data.NewTable(in, file)
	return err == nil && t.Has("workers", "placement") && !t.Has("worker"), err
}

// rows compares every measurement with status ok with the model.
func (f checkFlags) rows(a *app, file string, m *fit.Model) (res checkResult, err error) {
	ms, err := a.rows(data.Import{}, "", file)
	if err != nil {
		return res, err
	}
	if i := slices.IndexFunc(ms, func(row data.Measurement) bool { return row.Job != m.Job() }); i >= 0 {
		a.warn(fmt.Sprintf("%s: job %q is compared with the model of job %q", ms[i].Source, ms[i].Job, m.Job()))
	}
	named := slices.Clone(ms)
	data.SizesAsKnobs(named, data.VariedSizes(named))
	for i, row := range ms {
		if row.Status != data.OK {
			continue
		}
		if err := res.hold(a, f.model, m, row.Config, named[i].Config.String(), row.StepTime); err != nil {
			return res, fmt.Errorf("%s: %w", row.Source, err)
		}
	}
	if len(res.Drift) == 0 {
		return res, badFile(file, "no measurement with status ok", "one to compare with the model")
	}
	return res, nil
}

// steps reads the steps of the workers, and from a log the step time of the job.
func (f checkFlags) steps(a *app, file string) ([]check.Step, float64, error) {
	if isCSV(file) {
		steps, warnings, err := data.LoadTable(file, check.Read)
		a.warn(warnings...)
		return steps, 0, err
	}
	var r check.Recorder
	c, err := f.config(1)
	if err != nil {
		return nil, 0, err
	}
	p, err := readLog(file, c, f.metrics, r.Add)
	if err == nil && p.Measurement.StepTime == 0 {
		err = badFile(file, "no steps with their time", "a log that tells how long steps take")
	}
	steps := r.Steps()
	if err == nil && len(steps) == 0 {
		a.note("%s: no line gives a rank, so workers cannot be told apart", file)
	}
	return steps, p.Measurement.StepTime, err
}

func (r *checkResult) hold(a *app, model string, m *fit.Model, c data.Config, name string, measured float64) error {
	p, err := m.Predict(c)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", model, name, err)
	}
	d := check.Compare(measured, p.StepTime)
	r.Drift = append(r.Drift, driftOf{c, d, name})
	verdict := "inside the interval"
	if d.Refit {
		verdict = "outside the interval: measure again and fit anew"
	}
	a.note("%s steps in %s, predicted %s, %s: %s", name, seconds(d.Measured), between(d.Predicted, seconds), percent(d.Change), verdict)
	return nil
}

// config returns the configuration of the flags, on some workers unless they say.
func (f checkFlags) config(workers int) (data.Config, error) {
	given := maps.Clone(f.given)
	if given["workers"]+given["placement"] == "" {
		given["workers"] = strconv.Itoa(workers)
	}
	if given["mode"] == "" && given["ps"] != "" {
		given["mode"] = string(data.PSSync) // a row with servers needs one
	}
	c, err := configOf(given)
	c.Mode = data.Mode(f.given["mode"]) // empty: that of the model
	return c, err
}

func (r checkResult) table() *table {
	if len(r.Workers) == 0 && len(r.Drift) > 0 {
		t := newTable("config,measured_s,predicted_s,predicted_lo_s,predicted_hi_s,change,refit")
		for _, d := range r.Drift {
			t.add(d.name, d.Measured, d.Predicted.Mean, d.Predicted.Lo, d.Predicted.Hi, d.Change, d.Refit)
		}
		return t
	}
	return tableOf(r.Workers, "worker,steps,step_time_s,speed,longest_gap_s,behind_steps,verdict")
}

// found returns an error that names the findings of --fail-if.
func (f checkFlags) found(r checkResult) error {
	var all []error
	for _, w := range r.Workers {
		if slices.Contains(f.fail, w.Verdict) {
			all = append(all, fmt.Errorf("worker %s is %s: %s of the median speed, %s steps behind", w.Name, w.Verdict, number(w.Speed), number(w.Behind)))
		}
	}
	for _, d := range r.Drift {
		if slices.Contains(f.fail, "drift") && d.Refit {
			all = append(all, fmt.Errorf("drift: a step of %s takes %s, predicted %s", d.Config, seconds(d.Measured), between(d.Predicted, seconds)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return exitError{errors.Join(all...), exitThreshold}
}
