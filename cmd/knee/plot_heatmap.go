package main

import (
	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
	"knee/predict"
)

func newPlotHeatMap(a *app) *cobra.Command {
	var file string
	var base baseFlags
	var workers int
	cmd := &cobra.Command{
		Use:     "heatmap MODEL.json",
		Short:   "Throughput over the degrees of a layout",
		Example: "  knee plot heatmap model.json -f heatmap.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			on, err := base.open(args[0])
			if err != nil {
				return err
			}
			p, c := on.Predictor, on.Base
			measured := p.Model.Layouts(c.GPUType)
			if measured == nil {
				return usageError{errorf("%s has no layouts; knee plot scalability --by local_batch and knee plot batch show workers and batch", args[0])}
			}
			if workers == 0 {
				workers = mostWorkers(measured)
			}
			spec, err := plots.LayoutHeat(p, predict.LayoutQuestion{GPUType: c.GPUType, Workers: workers})
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
	cmd.Flags().IntVar(&workers, "workers", 0, "GPUs whose layouts are compared (default: the most measured)")
	return cmd
}

// mostWorkers is the largest number of workers measured.
func mostWorkers(ms []data.Measurement) int {
	most := 1
	for _, m := range ms {
		most = max(most, m.Workers)
	}
	return most
}
