package main

import (
	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
)

func newPlotSearch(a *app) *cobra.Command {
	var file, study, curve, along string
	cmd := &cobra.Command{
		Use:   "search MEASUREMENTS.csv",
		Short: "Progress of a search, or its prediction along one knob",
		Long: `search draws every trial and the best throughput so far.

With --study and --along it draws what the search predicts along one knob of the
study, everything else as in the best configuration so far: the objective with
its 90 % band, the measured points, and below the expected improvement that
decides what is measured next.`,
		Example: `  knee plot search study.measurements.csv -f search.svg
  knee plot search study.measurements.csv --study study.yaml --along workers -f surrogate.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (study == "") != (along == "") {
				return usageError{errorf("--study %q and --along %q: want both or neither", study, along)}
			}
			if curve != "" && study == "" {
				return usageError{errorf("--curve %s: it goes with --study and --along", curve)}
			}
			ms, points, err := a.history(args[0], curve)
			if err != nil {
				return err
			}
			var fig plots.Figure
			if along == "" {
				fig, err = searchFigure(ms, "throughput (samples/s)", data.Measurement.Throughput)
			} else {
				fig, err = predictionFigure(study, along, ms, points)
			}
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "search.svg")
	cmd.Flags().StringVar(&study, "study", "", "study that was searched, for --along")
	cmd.Flags().StringVar(&curve, "curve", "", "training curves with gradient statistics, for the objective goodput")
	cmd.Flags().StringVar(&along, "along", "", "knob to draw the prediction along: workers, nodes, ps, local_batch, accum_steps or a further knob")
	return cmd
}

// predictionFigure draws what the search of a study predicts along a knob.
func predictionFigure(path, along string, ms []data.Measurement, curves []data.CurvePoint) (plots.Figure, error) {
	study, err := data.LoadStudy(path)
	if err != nil {
		return nil, err
	}
	b, err := plots.NewSearchPrediction(study, ms, curves)
	if err != nil {
		return nil, err
	}
	spec, err := b.Along(along)
	if err != nil {
		return nil, err
	}
	return plots.NewSurrogate(spec)
}

// searchFigure draws the trials of one job in their order by an objective
// of which more is better.
func searchFigure(ms []data.Measurement, objective string, value func(data.Measurement) float64) (plots.Figure, error) {
	spec := plots.Search{Title: "Search", Objective: objective}
	for i, m := range ms {
		spec.Title = "Search of " + m.Job
		spec.Trials = append(spec.Trials, plots.SearchTrial{Number: i + 1, Value: value(m), Status: m.Status, Label: m.Config.String()})
	}
	return plots.NewSearch(spec)
}
