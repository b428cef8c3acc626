package main

import (
	"github.com/spf13/cobra"
)

func newPlotScalability(a *app) *cobra.Command {
	var file string
	var f conditionFlags
	var axes axisFlags
	cmd := &cobra.Command{
		Use:   "scalability MODEL.json...",
		Short: "Throughput against workers: measured, predicted with its 90 % band, ideal, and the knee",
		Long: `scalability draws a curve for every GPU type and mode of the models, at the batch
most of the measurements share. Lists draw more: --gpu-type a100,v100,
--local-batch 32,64, --by x_width. Curves are named by what they differ in; what
they share is the subtitle. Where a global batch was measured on more numbers of
workers than any local batch, it is divided among the workers.`,
		Example: `  knee plot scalability model.json -f scalability.svg
  knee plot scalability model.json --by local_batch -f batches.svg
  knee plot scalability model.json --gpu-type a100 --global-batch 512 --workers 1..64*2 -f a100.png`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := f.conditions(args)
			if err != nil {
				return err
			}
			fig, err := scalabilityFigure(all, axes)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "scalability.svg")
	f.add(cmd)
	axes.add(cmd)
	return cmd
}
