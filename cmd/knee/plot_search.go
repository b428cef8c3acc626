package main

import (
	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
)

func newPlotSearch(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "search MEASUREMENTS.csv",
		Short:   "Progress of a search: every trial, and the best throughput so far",
		Example: "  knee plot search study.measurements.csv -f search.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ms, _, err := a.history(args[0], "")
			if err != nil {
				return err
			}
			fig, err := searchFigure(ms, "throughput (samples/s)", data.Measurement.Throughput)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "search.svg")
	return cmd
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
