package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
	"knee/plots"
)

// The figures of what was measured.

func (a *app) convergencePlot() figure {
	var job string
	var target float64
	var run curveFlags
	return figure{
		use:   "convergence CURVE.csv",
		short: "Loss against step, the fitted curve with its band, and when a target is reached",
		example: `  knee plot convergence study.curve.csv -f convergence.svg
  knee plot convergence study.curve.csv --target-loss 0.2 -f convergence.png`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&job, "job", "", "which of several jobs")
			cmd.Flags().Float64Var(&target, "target-loss", 0, "loss whose time to mark")
			cmd.Flags().Float64Var(&run.initialBatch, "initial-batch", 0, "global batch to count steps at (default: as recorded)")
			run.registerRun(cmd)
		},
		draw: func(cmd *cobra.Command, files []string) (plots.Figure, error) {
			all, err := a.curves(files[0])
			if err != nil {
				return nil, err
			}
			var points []data.CurvePoint
			for _, p := range all {
				if job == "" || p.Job == job {
					points = append(points, p)
				}
			}
			var goal *float64
			if cmd.Flags().Changed("target-loss") {
				goal = &target
			}
			settings, err := run.settings(a)
			if err != nil {
				return nil, err
			}
			if noise, err := gradnoise.Fit(points, run.initialBatch); err == nil {
				points, settings.Templates = noise.WithProgress(points, settings.Templates)
			}
			c, err := convergence.Fit(points, run.initialBatch, settings)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", files[0], err)
			}
			spec, warnings, err := plots.ConvergenceOf(c, points, run.initialBatch, goal)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", files[0], err)
			}
			a.warn(warnings...)
			return plots.NewConvergence(spec)
		},
	}
}

func (a *app) searchPlot() figure {
	var study, curve, along string
	return figure{
		use:   "search MEASUREMENTS.csv",
		short: "Progress of a search, or its prediction along one knob",
		long: `search draws every trial and the best throughput so far.

With --study and --along it draws what the search predicts along one knob, all
else as in the best configuration so far: the objective with its 90 % band, the
measured points, and below the expected gain, by which the next trial is chosen.`,
		example: `  knee plot search study.measurements.csv -f search.svg
  knee plot search study.measurements.csv --study study.yaml --along workers -f surrogate.svg`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&study, "study", "", "study that was searched")
			cmd.Flags().StringVar(&curve, "curve", "", "training curves, for the objective goodput")
			cmd.Flags().StringVar(&along, "along", "", "knob on the horizontal axis")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			if (study == "") != (along == "") || curve != "" && study == "" {
				return nil, usageError("--study, --along and --curve: want --study and --along, or none")
			}
			ms, err := a.rows(data.Import{}, "", files[0])
			if err != nil {
				return nil, err
			}
			points, err := a.curves(curve)
			if err != nil {
				return nil, err
			}
			if along == "" {
				return plots.NewSearch("", ms)
			}
			s, err := data.LoadStudy(study)
			if err != nil {
				return nil, err
			}
			return drawing(plots.NewSurrogate)(plots.SurrogateOf(s, ms, points, along))
		},
	}
}

func (a *app) residualsPlot() figure {
	var v validateFlags
	return figure{
		use:   "residuals MEASUREMENTS.csv...",
		short: "Errors of predictions of held-out measurements, as knee validate makes them",
		example: `  knee plot residuals study.measurements.csv -f residuals.svg
  knee plot residuals study.measurements.csv --forward -f forward.png`,
		files: cobra.MinimumNArgs(1),
		flags: v.add,
		draw: func(cmd *cobra.Command, files []string) (plots.Figure, error) {
			val, err := v.run(a, cmd, files)
			if err != nil {
				return nil, err
			}
			jobs := map[string]bool{}
			for _, r := range val.Residuals {
				jobs[r.Measured.Job] = true
			}
			title := "Residuals of " + val.Residuals[0].Measured.Job
			if len(jobs) > 1 {
				title = fmt.Sprintf("Residuals of %d jobs", len(jobs))
			}
			return plots.NewResiduals(title, val)
		},
	}
}
