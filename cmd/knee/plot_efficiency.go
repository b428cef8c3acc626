package main

import (
	"github.com/spf13/cobra"

	"knee/plots"
	"knee/predict"
)

func newPlotEfficiency(a *app) *cobra.Command {
	var file, workers string
	var base baseFlags
	cmd := &cobra.Command{
		Use:   "efficiency MODEL.json",
		Short: "What scaling costs: efficiency and cost against workers",
		Example: `  knee plot efficiency model.json -f efficiency.svg
  knee plot efficiency model.json --gpu-type a100 --price a100=3.2 -f cost.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, c, err := base.open(args[0])
			if err != nil {
				return err
			}
			ks, _ := predict.Sizes(p.Model, c.GPUType, c.ModeOrDefault())
			if workers != "" {
				if ks, err = counts("workers", workers); err != nil {
					return err
				}
			}
			spec, err := plots.EfficiencyOf(p, c, ks)
			if err != nil {
				return err
			}
			fig, err := plots.NewEfficiency(spec)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "efficiency.svg")
	base.add(cmd)
	cmd.Flags().Var(base.price, "price", "US$ per worker-hour by GPU type, such as a100=3.2; the cost is in GPU-hours without")
	cmd.Flags().StringVar(&workers, "workers", "", "numbers of workers: 1,2,4 or 1..16 or 1..64*2 (default: twice the range measured)")
	return cmd
}
