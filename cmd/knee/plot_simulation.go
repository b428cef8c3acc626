package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"knee/allocate/simulate"
	"knee/data"
	"knee/plots"
)

func simulationPlot() figure {
	var workload string
	return figure{
		use:   "simulation JOBS.csv | USAGE.csv",
		short: "Policies compared: how soon jobs are done, how full the cluster is",
		long: `simulation draws what knee simulate --jobs-out wrote: the share of jobs that are
done within a time, one line per policy. Of what --usage-out wrote it draws the
GPUs in use over time, one row per policy, and below how many jobs wait, stopped
ones included.`,
		example: `  knee plot simulation jobs.csv -f jct.svg
  knee plot simulation usage.csv -f usage.svg`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&workload, "workload", "", "which of several workloads (default: the first)")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			in, err := loadSimulated(files[0])
			if err != nil {
				return nil, err
			}
			fig, err := in.figure(workload)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", files[0], err)
			}
			return fig, nil
		},
	}
}

// simulated is a file of --jobs-out or of --usage-out.
type simulated struct {
	jobs []simulate.Replayed
	used []simulate.Used // nil for a file of jobs
}

// loadSimulated reads either file, distinguished by its columns.
func loadSimulated(path string) (simulated, error) {
	f, err := data.Open(path)
	if err != nil {
		return simulated{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return simulated{}, fmt.Errorf("read %s: %w", path, err)
	}
	var in simulated
	if header, _, _ := bytes.Cut(content, []byte("\n")); bytes.Contains(header, []byte("gpus_used")) {
		in.used, err = simulate.ReadUsage(bytes.NewReader(content), path)
		if err == nil && in.used == nil {
			err = &data.InputError{Source: data.Source{File: path}, Found: "no rows", Want: "at least two of a run"}
		}
		return in, err
	}
	in.jobs, err = simulate.ReadOutcomes(bytes.NewReader(content), path)
	return in, err
}

// chosen returns the elements of one workload, by default that of the first.
func chosen[T any](all []T, workload string, of func(T) string) ([]T, error) {
	var out []T
	for i, r := range all {
		if workload == "" && i == 0 {
			workload = of(r)
		}
		if of(r) == workload {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, &data.InputError{Found: "nothing of workload " + fmt.Sprintf("%q", workload), Want: "a workload of the file"}
	}
	return out, nil
}

// figure draws the GPUs in use, or the completion times of the jobs.
func (in simulated) figure(workload string) (plots.Figure, error) {
	if in.used != nil {
		runs, err := chosen(in.used, workload, func(u simulate.Used) string { return u.Workload })
		if err != nil {
			return nil, err
		}
		return plots.NewOccupancy(plots.Occupancy{Title: "GPUs in use", Subtitle: runs[0].Workload, Runs: runs})
	}
	runs, err := chosen(in.jobs, workload, func(r simulate.Replayed) string { return r.Workload })
	if err != nil {
		return nil, err
	}
	return plots.NewSimulation("Job completion times", runs)
}
