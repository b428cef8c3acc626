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

// curvePoints is how many points a fitted curve is drawn through.
const curvePoints = 120

// convergenceFigure draws a training curve with the course it is believed to
// take, the latter to beyond the steps seen or to where the target is reached.
func (a *app) convergenceFigure(points []data.CurvePoint, initial float64, target *float64, settings fit.ConvergenceSettings) (plots.Figure, error) {
	c, err := fit.FitConvergenceWith(points, initial, settings)
	if err != nil {
		return nil, err
	}
	spec := plots.Convergence{Title: "Convergence", Subtitle: courseSubtitle(c, nil), Target: target, XLabel: "step"}
	spec.Points, spec.YLabel = curveDots(fit.AtInitialBatch(points, initial), c.Rising != nil)
	if len(points) > 0 && points[0].Job != "" {
		spec.Title = "Convergence of " + points[0].Job
	}
	if initial > 0 {
		spec.XLabel = fmt.Sprintf("step at batch %s", number(initial))
	}
	end := 1.3 * c.LastX
	if target != nil {
		t, err := c.Target(*target)
		var never *fit.NeverReachedError
		switch {
		case err == nil:
			spec.Crossing, spec.Subtitle = &t.Steps, courseSubtitle(c, &t)
			end = max(end, min(1.1*t.Steps.Hi, max(5*c.LastX, 1.3*t.Steps.Mean)))
			a.warn(t.Notes...)
		case errors.As(err, &never):
			a.warn(err.Error())
		default:
			return nil, err
		}
	}
	course := c.Course(target)
	for i := range curvePoints {
		x := course.From + (end-course.From)*float64(i+1)/curvePoints
		spec.Curve = append(spec.Curve, plots.BandOf(x, course.Band(x), x > c.LastX))
	}
	return plots.NewConvergence(spec)
}

// courseSubtitle says where a course comes from and, if a target is asked
// for and reached, on what condition it stands.
func courseSubtitle(c *fit.Convergence, t *fit.TargetAnswer) string {
	from := fmt.Sprintf("many curves that agree with the record (%s)", c.Family)
	switch {
	case c.Single != nil:
		from = "the form " + c.Family
	case len(c.Templates) > 0:
		from = fmt.Sprintf("finished runs laid over the record (%s)", c.Family)
	}
	switch {
	case t == nil:
		return "curve: " + from
	case t.Method == "recorded":
		return "curve: " + from + "; the target was reached in the record"
	case c.Single != nil:
		return "curve: " + from
	}
	return fmt.Sprintf("curve: %s, if the target is reached (probability %.0f %%)", from, 100*t.Chance)
}

// curveDots returns the measured points of a curve, and what they are: losses,
// or the metric where no loss is recorded.
func curveDots(points []data.CurvePoint, rising bool) ([]plots.Point, string) {
	if dots := plots.LossPoints(points); len(dots) > 0 && !rising {
		return dots, "loss"
	}
	for i := range points {
		points[i].Loss = points[i].Metric
	}
	return plots.LossPoints(points), "metric"
}
