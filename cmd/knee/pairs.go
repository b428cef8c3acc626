package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit/interference"
)

func newPairs(a *app) *cobra.Command {
	var everything bool
	var out format
	cmd := &cobra.Command{
		Use:   "pairs PAIRS.csv",
		Short: "Predict how fast two jobs are beside each other on the same GPUs",
		Long: `pairs predicts the pairs of applications that a table of measured pairs does not
hold: the speed of each beside the other, as a share of that alone, an interval of
90 %, and how probable it is that both fit on a GPU. It says how far off it is for
measured pairs, a fifth at a time left out.

PAIRS.csv has a row for each job of a pair: application, beside, gpu_type, workers
(empty for any number) and share, or step_time_s and alone_step_time_s, or
steps_per_s and alone_steps_per_s; 0 where two do not fit. knee profile --beside
measures a pair, knee simulate --packed takes the table.`,
		Example: `  knee pairs pairs.csv
  knee pairs pairs.csv --all -o csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rows, warnings, err := interference.Load(args[0])
			if err != nil {
				return err
			}
			a.warn(warnings...)
			if c := interference.CrossValidate(rows); c.Rows > 0 {
				a.note("left out, %d measured shares are %.1f %% off on average (the mean of all others: %.1f %%), and %.0f %% of them in intervals of 90 %%",
					c.Rows, 100*c.Error, 100*c.Rival, 100*c.Covered)
			}
			res := predictPairs(rows, everything)
			t := table{columns: []string{"application", "beside", "gpu_type", "workers", "share", "share_lo", "share_hi", "fits", "measured"}}
			t.people = &table{columns: []string{"application", "beside", "gpu_type", "share", "90 %", "fits", "measured"}}
			for _, p := range res {
				measured := ""
				if p.Measured != nil {
					measured = exact(*p.Measured)
				}
				t.add(p.Application, p.Beside, p.GPUType, fmt.Sprint(p.Workers), exact(p.Share.Mean), exact(p.Share.Lo), exact(p.Share.Hi), exact(p.Fits), measured)
				t.people.add(p.Application, p.Beside, p.GPUType, fmt.Sprintf("%.2f", p.Share.Mean), fmt.Sprintf("%.2f to %.2f", p.Share.Lo, p.Share.Hi), fmt.Sprintf("%.0f %%", 100*p.Fits), measured)
			}
			return out.print(a.stdout, res, t)
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "measured pairs too")
	formatFlag(cmd, &out)
	return cmd
}

// predictedPair is one element of the JSON that pairs prints.
type predictedPair struct {
	Application string        `json:"application"`
	Beside      string        `json:"beside"`
	GPUType     string        `json:"gpu_type"`
	Workers     int           `json:"workers,omitempty"`
	Share       data.Estimate `json:"share"`
	Fits        float64       `json:"fits"`
	Measured    *float64      `json:"measured,omitempty"`
}

// predictPairs predicts all pairs of the jobs of a table, measured ones only with
// --all.
func predictPairs(rows []interference.Row, everything bool) []predictedPair {
	type place struct {
		gpuType string
		workers int
	}
	jobs, measured := map[place][]string{}, map[interference.Row]*float64{}
	var places []place
	for _, r := range rows {
		at := place{r.GPUType, r.Workers}
		if jobs[at] == nil {
			places = append(places, at)
		}
		jobs[at] = append(jobs[at], r.Job, r.Beside)
		share := r.Share
		r.Share = 0
		measured[r] = &share
	}
	m, out := interference.Fit(rows), []predictedPair{}
	for _, at := range places {
		names := slices.Compact(slices.Sorted(slices.Values(jobs[at])))
		for _, job := range names {
			for _, other := range names {
				r := interference.Row{Job: job, Beside: other, GPUType: at.gpuType, Workers: at.workers}
				if known := measured[r]; known == nil || everything {
					p := m.Predict(r)
					out = append(out, predictedPair{job, other, at.gpuType, at.workers, p.Share, p.Fits, known})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b predictedPair) int { return cmp.Compare(a.GPUType, b.GPUType) })
	return out
}
