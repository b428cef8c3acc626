package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/allocate/simulate"
	"knee/data"
	"knee/plots"
)

func newPlotSimulation(a *app) *cobra.Command {
	var file, workload string
	var timeline bool
	cmd := &cobra.Command{
		Use:   "simulation JOBS.csv",
		Short: "Policies compared: how soon jobs are done, or how many there are over time",
		Long: `simulation draws what knee simulate --jobs-out wrote: the share of jobs that
are done within a time, one line per policy, or with --timeline how many jobs
are in the system at any time.`,
		Example: `  knee plot simulation jobs.csv -f jct.svg
  knee plot simulation jobs.csv --timeline -f backlog.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := loadOutcomes(args[0], workload)
			if err != nil {
				return err
			}
			fig, err := simulationFigure(runs, timeline)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "simulation.svg")
	cmd.Flags().StringVar(&workload, "workload", "", "the workload to draw, where the file has several (default the first)")
	cmd.Flags().BoolVar(&timeline, "timeline", false, "jobs in the system over time instead of completion times")
	return cmd
}

// loadOutcomes reads the runs of one workload.
func loadOutcomes(path, workload string) ([]simulate.Replayed, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := simulate.ReadOutcomes(f, path)
	if err != nil {
		return nil, err
	}
	var out []simulate.Replayed
	for _, r := range all {
		if workload == "" {
			workload = r.Workload
		}
		if r.Workload == workload {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, &data.InputError{Source: data.Source{File: path}, Found: "no jobs of workload " + fmt.Sprintf("%q", workload), Want: "a workload of the file"}
	}
	return out, nil
}

func simulationFigure(runs []simulate.Replayed, timeline bool) (plots.Figure, error) {
	subtitle := fmt.Sprintf("%s, %d jobs", runs[0].Workload, len(runs[0].Outcomes))
	if timeline {
		t := plots.Timeline{Title: "Jobs in the system", Subtitle: subtitle}
		for _, r := range runs {
			p := plots.PolicyStays{Policy: r.Policy}
			for _, o := range r.Outcomes {
				p.Stays = append(p.Stays, plots.Stay{From: o.Submit, To: o.End})
			}
			t.Runs = append(t.Runs, p)
		}
		return plots.NewTimeline(t)
	}
	s := plots.Simulation{Title: "Job completion times", Subtitle: subtitle}
	for _, r := range runs {
		p := plots.PolicyRun{Policy: r.Policy}
		for _, o := range r.Outcomes {
			p.JCT = append(p.JCT, o.JCT())
		}
		s.Runs = append(s.Runs, p)
	}
	return plots.NewSimulation(s)
}
