package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/plots"
)

func newPlotResiduals(a *app) *cobra.Command {
	var v validateFlags
	var file, over string
	cmd := &cobra.Command{
		Use:   "residuals MEASUREMENTS.csv...",
		Short: "Errors of predictions of measurements held out, as knee validate makes them",
		Example: `  knee plot residuals study.measurements.csv -f residuals.svg
  knee plot residuals study.measurements.csv --forward --over workers -f forward.png`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if over != "time" && over != "workers" {
				return usageError{fmt.Errorf("--over %q: want time or workers", over)}
			}
			val, err := v.run(a, cmd, args)
			if err != nil {
				return err
			}
			title := "Residuals of " + val.Residuals[0].Measured.Job
			jobs := map[string]bool{}
			for _, r := range val.Residuals {
				jobs[r.Measured.Job] = true
			}
			if len(jobs) > 1 {
				title = fmt.Sprintf("Residuals of %d jobs", len(jobs))
			}
			fig, err := plots.NewResiduals(plots.ResidualsOf(val, title, over == "workers"))
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	v.add(cmd)
	fileFlag(cmd, &file, "residuals.svg")
	cmd.Flags().StringVar(&over, "over", "time", "what grows along the figure: time (the predicted step time) or workers")
	return cmd
}
