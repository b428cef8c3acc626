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
	"github.com/spf13/pflag"

	"knee/data"
	"knee/profile/joblog"
)

// columnsFlag collects --columns gpus=workers: names of the file, and of knee.
type columnsFlag map[string]string

const columnsUsage = "names of columns, such as gpus=workers,tokens_s=tokens_per_s"

func (c columnsFlag) String() string { return "" }
func (c columnsFlag) Type() string   { return "name=column" }

func (c columnsFlag) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		from, to, found := strings.Cut(part, "=")
		if !found || from == "" || to == "" {
			return fmt.Errorf("%q, want NAME=COLUMN such as gpus=workers", part)
		}
		c[from] = to
	}
	return nil
}

// readFlags are the flags of knee read.
type readFlags struct {
	metrics data.Metrics
	columns columnsFlag
	add     bool
	output  string
}

func newRead(a *app) *cobra.Command {
	in := readFlags{columns: columnsFlag{}}
	cmd := &cobra.Command{
		Use:   "read FILE",
		Short: "Make measurements of the log of a job, or of a CSV of another program",
		Long: `read turns the log of a job that runs, or ran, without knee into a row of
measurements.csv. --workers and the other flags say how it ran. The format
of its lines is detected, or given by --pattern or --regex. Warm-up steps
are left out. A log that only counts steps needs time stamps in its lines. Lines
on memory, as Megatron-LM, DeepSpeed, torchtitan, PyTorch and nvidia-smi write
them, give its peak.

A CSV (.csv or .tsv, or with --columns) may have commas, semicolons or tabs,
decimal commas, units in cells (78.6 ms), and in place of step_time_s one of
step_time_ms, steps_per_s, throughput (samples/s), tokens_per_s, or those of one
worker, with worker_ before the name. --columns maps other names, knobs too
(precision=x_precision). --job, --gpu-type, --seq-len and the others hold for all
rows of a file without that column.`,
		Example: `  knee read job.log --pattern megatron --job gpt --gpu-type a100 --workers 8 --local-batch 4 -f gpt.csv
  knee read job.log --job gpt --gpu-type a100 --workers 32 --tp 8 --pp 2 --sharding zero1 --local-batch 1 --global-batch 64 -f gpt.csv
  knee read job-16.log --job gpt --gpu-type a100 --workers 16 --local-batch 4 -f gpt.csv --add
  knee read runs.csv --columns gpus=workers,tokens_s=tokens_per_s --seq-len 4096 --job gpt --gpu-type gb200 -f gpt.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ms, err := a.read(args[0], in, cmd.Flags())
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
			a.note("%d measurement%s in %s", len(ms), plural(len(ms)), in.output)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.metrics.Pattern, "pattern", "", "format of the log: "+strings.Join(data.MetricPatterns(), ", "))
	f.StringVar(&in.metrics.Regex, "regex", "", "expression for lines of the log, with groups such as (?P<step_time_s>…): "+strings.Join(data.MetricQuantities(), ", "))
	f.Var(in.columns, "columns", columnsUsage)
	f.StringVarP(&in.output, "file", "f", "-", "file to write; - for standard output")
	f.BoolVar(&in.add, "add", false, "append to the file")
	for _, name := range jobColumns() {
		f.String(strings.ReplaceAll(name, "_", "-"), "", "this column, for every row")
	}
	cmd.MarkFlagsMutuallyExclusive("pattern", "regex", "columns")
	completes(cmd, "pattern", data.MetricPatterns())
	return cmd
}

// jobColumns are the columns that flags give, in the order of the file.
func jobColumns() []string {
	return append([]string{"job", "gpu_type", "mode", "placement", "nodes", "workers", "ps", "local_batch", "global_batch", "accum_steps", "micro_steps", "seq_len"}, data.LayoutNames()...)
}

func (a *app) read(file string, in readFlags, flags *pflag.FlagSet) ([]data.Measurement, error) {
	given := map[string]string{}
	for _, column := range jobColumns() {
		if f := flags.Lookup(strings.ReplaceAll(column, "_", "-")); f.Changed {
			given[column] = f.Value.String()
		}
	}
	if len(in.columns) > 0 || isCSV(file) {
		return a.rows(data.Import{Columns: in.columns, Given: given}, "", file)
	}
	if given["seq_len"] != "" {
		return nil, usageError("--seq-len is about a CSV of tokens/s; a log is read for its steps")
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
	for _, need := range []string{"job", "workers"} {
		if given[need] == "" && !(need == "workers" && given["placement"] != "") {
			return data.Config{}, usageError("--%s: want a value, as a log does not say it", need)
		}
	}
	names := slices.Sorted(maps.Keys(given))
	cells := make([]string, len(names))
	for i, n := range names {
		cells[i] = given[n]
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	if err := w.WriteAll([][]string{names, cells}); err != nil {
		return data.Config{}, err
	}
	rows, _, err := data.ReadConfigs(&table, "")
	var input *data.InputError
	if errors.As(err, &input) {
		input.Source = data.Source{File: "--" + strings.ReplaceAll(input.Column, "_", "-")}
	}
	if err != nil {
		return data.Config{}, err
	}
	return rows[0].Config, nil
}
