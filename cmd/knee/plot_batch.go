package main

import (
	"github.com/spf13/cobra"

	"knee/plots"
	"knee/predict"
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
			p, c, err := base.open(args[0])
			if err != nil {
				return err
			}
			if c.Workers = workers; workers < 1 {
				ks, _ := predict.Sizes(p.Model, c.GPUType, c.ModeOrDefault())
				answers, err := predict.Sweep(p, c, ks)
				if err != nil {
					return err
				}
				c.Workers = answers[max(0, predict.Knee(answers))].Config.Workers
			}
			spec, err := plots.BatchOf(p, c)
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
