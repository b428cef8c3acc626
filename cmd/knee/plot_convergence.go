package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit/convergence"
	"knee/plots"
)

func newPlotConvergence(a *app) *cobra.Command {
	var file, job string
	var target float64
	var run curveFlags
	cmd := &cobra.Command{
		Use:   "convergence CURVE.csv",
		Short: "Loss against step, the fitted curve with its band, and when a target is reached",
		Example: `  knee plot convergence study.curve.csv -f convergence.svg
  knee plot convergence study.curve.csv --target-loss 0.2 -f convergence.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, points, err := a.history("", args[0])
			if err != nil {
				return err
			}
			if job != "" {
				var only []data.CurvePoint
				for _, p := range points {
					if p.Job == job {
						only = append(only, p)
					}
				}
				points = only
			}
			var goal *float64
			if cmd.Flags().Changed("target-loss") {
				goal = &target
			}
			settings, err := run.settings(a)
			if err != nil {
				return err
			}
			fig, err := a.convergenceFigure(points, run.initialBatch, goal, settings)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "convergence.svg")
	cmd.Flags().StringVar(&job, "job", "", "which job, where the file holds several")
	cmd.Flags().Float64Var(&target, "target-loss", 0, "loss to mark, with when it is reached")
	cmd.Flags().Float64Var(&run.initialBatch, "initial-batch", 0, "global batch whose steps are counted (default: steps as recorded)")
	run.registerRun(cmd)
	return cmd
}

// convergenceFigure draws a training curve with its predicted course, to
// beyond the steps seen or to where the target is reached.
func (a *app) convergenceFigure(points []data.CurvePoint, initial float64, target *float64, settings convergence.Settings) (plots.Figure, error) {
	c, err := convergence.Fit(points, initial, settings)
	if err != nil {
		return nil, err
	}
	spec, warnings, err := plots.ConvergenceOf(c, points, initial, target)
	a.warn(warnings...)
	if err != nil {
		return nil, err
	}
	return plots.NewConvergence(spec)
}
