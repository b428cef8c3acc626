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
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
	"knee/profile/joblog"
)

// readFlags are the flags of knee read.
type readFlags struct {
	metrics data.Metrics
	columns map[string]string
	add     bool
	output  string
}

func newRead(a *app) *cobra.Command {
	var in readFlags
	cmd := &cobra.Command{
		Use:   "read FILE",
		Short: "Make measurements of the log of a job, or of a CSV of another program",
		Long: `read turns the log of a job that runs, or ran, without knee into a row of
measurements.csv. --workers and the other flags say how it ran. The format of its
lines is detected, or given by --pattern or --regex. Warm-up steps are left out. A
log that only counts steps needs time stamps in its lines.

A CSV (.csv or .tsv, or with --columns) may have commas, semicolons or tabs,
decimal commas, units in cells (78.6 ms), and in place of step_time_s one of
step_time_ms, steps_per_s, throughput (samples/s), tokens_per_s, or those of one
worker, with worker_ before the name. --columns maps other names, knobs too
(precision=x_precision). --job, --gpu-type, --seq-len and the others hold for all
rows of a file without that column.`,
		Example: `  knee read job.log --pattern megatron --job gpt --gpu-type a100 --workers 8 --local-batch 4 -f gpt.csv
  knee read job-16.log --job gpt --gpu-type a100 --workers 16 --local-batch 4 -f gpt.csv --add
  knee read runs.csv --columns gpus=workers,tokens_s=tokens_per_s --seq-len 4096 --job gpt --gpu-type gb200 -f gpt.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
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
			a.note("%s in %s", plots.Counted(len(ms), "measurement"), in.output)
			return nil
		},
	}
	f := cmd.Flags()
	named(cmd, &in.metrics.Pattern, "pattern", "", "format of the log", data.MetricPatterns())
	f.StringVar(&in.metrics.Regex, "regex", "", "expression for lines of the log, with groups such as (?P<step_time_s>…): "+strings.Join(data.MetricQuantities(), ", "))
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

// jobColumns are the columns that flags give.
func jobColumns() []string {
	return append([]string{"job", "gpu_type", "mode", "placement", "nodes", "workers", "ps", "local_batch", "global_batch", "accum_steps", "micro_steps", "seq_len"}, data.LayoutNames()...)
}

// flagOf is the flag of a column.
func flagOf(column string) string { return strings.ReplaceAll(column, "_", "-") }

// columnFlags adds flags that give columns of measurements.csv, with their usage.
func columnFlags(cmd *cobra.Command, usage map[string]string) {
	for column, text := range usage {
		cmd.Flags().String(flagOf(column), "", text)
	}
}

// givenColumns returns the columns that flags give.
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
	f, err := data.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := joblog.Read(f, file, config, in.metrics, nil)
	if err = cmp.Or(err, p.Untimed); err != nil {
		return nil, err
	}
	if p.Pattern != "" {
		a.note("read as --pattern %s", p.Pattern)
	}
	if config.LocalBatch == 0 {
		a.warn(fmt.Sprintf("%s: without --local-batch or --global-batch only steps/s are known, not samples/s", file))
	}
	return []data.Measurement{p.Measurement}, nil
}

func isCSV(file string) bool {
	plain := strings.TrimSuffix(file, ".gz")
	return strings.HasSuffix(plain, ".csv") || strings.HasSuffix(plain, ".tsv")
}

// configOf reads the configuration of a job from flags, as from columns.
func configOf(given map[string]string) (data.Config, error) {
	var names, cells []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		names, cells = append(names, name), append(cells, given[name])
	}
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
