package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

func newPlotSpeed(a *app) *cobra.Command {
	var file, over, mode, gpuType string
	var localBatch float64
	cmd := &cobra.Command{
		Use:   "speed MODEL.json",
		Short: "Speed under parameter servers: against workers at fixed ps, or against ps at fixed workers",
		Example: `  knee plot speed model.json --over workers -f workers.svg
  knee plot speed model.json --over ps --mode ps-async -f ps.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if over != "workers" && over != "ps" {
				return usageError{fmt.Errorf("--over %q: want workers or ps", over)}
			}
			m, err := fit.ReadModel(args[0])
			if err != nil {
				return err
			}
			if gpuType == "" {
				gpuType = m.GPUTypes()[0]
			}
			fig, err := speedFigure(&predict.Predictor{Model: m}, gpuType, data.Mode(mode), localBatch, over == "ps")
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "speed.svg")
	cmd.Flags().StringVar(&over, "over", "workers", "what grows along the figure: workers or ps")
	cmd.Flags().StringVar(&mode, "mode", string(data.PSSync), "ps-sync or ps-async")
	cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the first of the model)")
	cmd.Flags().Float64Var(&localBatch, "local-batch", 0, "samples per worker (default: the one measured most)")
	return cmd
}

// speedFigure draws the speed of a parameter-server mode.
func speedFigure(p *predict.Predictor, gpuType string, mode data.Mode, localBatch float64, overPS bool) (plots.Figure, error) {
	workers, servers := predict.Sizes(p.Model, gpuType, mode)
	if !mode.UsesPS() || len(servers) == 0 {
		return nil, usageError{fmt.Errorf("the model has no measurement of %s %q with parameter servers; it has %s", gpuType, mode, measuredKinds(p.Model))}
	}
	if localBatch == 0 {
		localBatch = plots.CommonBatch(p.Model, gpuType, mode)
	}
	base := data.Config{Job: p.Model.Job(), GPUType: gpuType, Mode: mode, LocalBatch: localBatch}
	if overPS {
		workers = measuredWorkers(p.Model, gpuType, mode)
	}
	spec, err := plots.SpeedOf(p, base, workers, servers, overPS)
	if err != nil {
		return nil, err
	}
	return plots.NewScalability(spec)
}

// measuredWorkers lists the numbers of workers that were measured, ascending.
func measuredWorkers(m *fit.Model, gpuType string, mode data.Mode) []int {
	seen := map[int]bool{}
	for _, row := range m.Measurements(gpuType, mode) {
		seen[row.Workers] = true
	}
	all, _ := predict.Sizes(m, gpuType, mode)
	var ks []int
	for _, k := range all {
		if seen[k] {
			ks = append(ks, k)
		}
	}
	return ks
}
