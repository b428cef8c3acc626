package main

import (
	"github.com/spf13/cobra"

	"knee/plots"
)

func newPlotBatch(a *app) *cobra.Command {
	var file string
	var workers int
	var base baseFlags
	cmd := &cobra.Command{
		Use:   "batch MODEL.json",
		Short: "Choice of batch: throughput, what a sample is worth, and goodput",
		Example: `  knee plot batch model.json -f batch.svg
  knee plot batch model.json --workers 8 -f batch.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := base.open(args[0])
			if err != nil {
				return err
			}
			at, err := atKnee(c, workers)
			if err != nil {
				return err
			}
			spec, err := plots.BatchOf(c.Predictor, at)
			if err != nil {
				return err
			}
			fig, err := plots.NewBatch(spec)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "batch.svg")
	base.add(cmd)
	cmd.Flags().IntVar(&workers, "workers", 0, "number of workers (default: at the knee)")
	return cmd
}
