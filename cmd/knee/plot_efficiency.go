package main

import (
	"github.com/spf13/cobra"

	"knee/plots"
)

func newPlotEfficiency(a *app) *cobra.Command {
	var file string
	var f conditionFlags
	cmd := &cobra.Command{
		Use:   "efficiency MODEL.json...",
		Short: "What scaling costs: efficiency and cost against workers",
		Example: `  knee plot efficiency model.json -f efficiency.svg
  knee plot efficiency model.json --price a100=3.2 -f cost.png`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := f.conditions(args)
			if err != nil {
				return err
			}
			spec, err := plots.EfficiencyOf(all)
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
	f.add(cmd)
	cmd.Flags().Var(f.price, "price", "US$ per worker-hour by GPU type, such as a100=3.2; the cost is in worker-hours without")
	return cmd
}
