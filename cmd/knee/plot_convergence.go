package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/plots"
)

func newPlotConvergence(a *app) *cobra.Command {
	var file, job string
	var target, initial float64
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
			fig, err := a.convergenceFigure(points, initial, goal)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "convergence.svg")
	cmd.Flags().StringVar(&job, "job", "", "which job, where the file holds several")
	cmd.Flags().Float64Var(&target, "target-loss", 0, "loss to mark, with when it is reached")
	cmd.Flags().Float64Var(&initial, "initial-batch", 0, "global batch whose steps are counted (default: steps as recorded)")
	return cmd
}

// curvePoints is how many points a fitted curve is drawn through.
const curvePoints = 120

// convergenceFigure draws a training curve with its fit, the latter to twice
// the steps seen or to where the target is reached.
func (a *app) convergenceFigure(points []data.CurvePoint, initial float64, target *float64) (plots.Figure, error) {
	c, err := fit.FitConvergence(points, initial)
	if err != nil {
		return nil, err
	}
	points = fit.AtInitialBatch(points, initial)
	spec := plots.Convergence{Title: "Convergence", Points: plots.LossPoints(points), Target: target, XLabel: "step"}
	if len(points) > 0 && points[0].Job != "" {
		spec.Title = "Convergence of " + points[0].Job
	}
	if initial > 0 {
		spec.XLabel = fmt.Sprintf("step at batch %s", number(initial))
	}
	end := 1.3 * c.LastX
	if target != nil {
		e, err := c.StepsTo(*target)
		var never *fit.NeverReachedError
		switch {
		case err == nil:
			spec.Crossing = &e
			if t, err := c.Target(*target); err == nil {
				spec.Subtitle = fmt.Sprintf("curve: the form of Optimus; target foreseen by %s, with probability %.0f %%", t.Method, 100*t.Chance)
				if t.Method == "recorded" {
					spec.Subtitle = "curve: the form of Optimus; the target was reached in the record"
				}
			}
			end = max(end, min(1.1*e.Hi, 5*c.LastX))
		case errors.As(err, &never):
			a.warn(err.Error())
		default:
			return nil, err
		}
	}
	for i := range curvePoints {
		x := end * float64(i+1) / curvePoints
		spec.Curve = append(spec.Curve, plots.BandOf(x, c.Band(x), x > c.LastX))
	}
	return plots.NewConvergence(spec)
}
