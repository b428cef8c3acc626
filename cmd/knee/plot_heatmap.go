package main

import (
	"github.com/spf13/cobra"

	"knee/plots"
)

func newPlotHeatMap(a *app) *cobra.Command {
	var file string
	var base baseFlags
	cmd := &cobra.Command{
		Use:     "heatmap MODEL.json",
		Short:   "Throughput over workers and batch, or workers and ps",
		Example: "  knee plot heatmap model.json -f heatmap.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, c, err := base.open(args[0])
			if err != nil {
				return err
			}
			spec, err := plots.HeatOf(p, c)
			if err != nil {
				return err
			}
			fig, err := plots.NewHeatMap(spec)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "heatmap.svg")
	base.add(cmd)
	return cmd
}
