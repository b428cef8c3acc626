package main

import (
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
)

func newPlotSearch(a *app) *cobra.Command {
	var file, study, curve string
	var along []string
	cmd := &cobra.Command{
		Use:   "search MEASUREMENTS.csv",
		Short: "Progress of a search, or what it believes along one knob",
		Long: `search draws every trial and the best throughput so far.

With --study and --along it draws what the search believes along one knob of the
study, everything else as in the best configuration so far: the objective with
its 90 % band, the measured points, and below the expected improvement that
decides what is measured next.

With two knobs, such as --along workers,local_batch, it draws both as heat maps.
Off the lines through the best configuration the search does not tell what it
believes: there the figure fits a surrogate of the same kind, a Gaussian process
on what a law of speed leaves over, to the trials in the mode of the best.`,
		Example: `  knee plot search study.measurements.csv -f search.svg
  knee plot search study.measurements.csv --study study.yaml --along workers -f surrogate.svg
  knee plot search study.measurements.csv --study study.yaml --along workers,local_batch -f surface.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (study == "") != (len(along) == 0) {
				return usageError{errorf("--study %q and --along %q: want both or neither", study, strings.Join(along, ","))}
			}
			if curve != "" && study == "" {
				return usageError{errorf("--curve %s: it is for what a search believes, with --study and --along", curve)}
			}
			if len(along) > 2 || len(along) == 2 && along[0] == along[1] {
				return usageError{errorf("--along %s: want one knob or two different ones", strings.Join(along, ","))}
			}
			ms, points, err := a.history(args[0], curve)
			if err != nil {
				return err
			}
			var fig plots.Figure
			switch len(along) {
			case 0:
				fig, err = searchFigure(ms, "throughput (samples/s)", data.Measurement.Throughput)
			default:
				fig, err = beliefFigure(study, along, ms, points)
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
	cmd.Flags().StringSliceVar(&along, "along", nil, "knob to draw the belief along, or two: workers, nodes, ps, local_batch, accum_steps or a further knob")
	return cmd
}

// beliefFigure draws what the search of a study believes along a knob, or over
// two.
func beliefFigure(path string, along []string, ms []data.Measurement, curves []data.CurvePoint) (plots.Figure, error) {
	study, err := data.LoadStudy(path)
	if err != nil {
		return nil, err
	}
	b, err := plots.NewBelief(study, ms, curves)
	if err != nil {
		return nil, err
	}
	if len(along) == 1 {
		spec, err := b.Along(along[0])
		if err != nil {
			return nil, err
		}
		return plots.NewSurrogate(spec)
	}
	spec, err := b.Over(along[0], along[1])
	if err != nil {
		return nil, err
	}
	return plots.NewSurface(spec)
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
