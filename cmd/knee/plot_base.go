package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

// baseFlags say which of the curves of a model a figure shows.
type baseFlags struct {
	gpuType, mode string
	localBatch    float64
	price         priceFlag
}

func (b *baseFlags) add(cmd *cobra.Command) {
	b.price = priceFlag{}
	cmd.Flags().StringVar(&b.gpuType, "gpu-type", "", "GPU type (default: the first of the model)")
	cmd.Flags().StringVar(&b.mode, "mode", "", "allreduce, ps-sync or ps-async (default: the first measured)")
	cmd.Flags().Float64Var(&b.localBatch, "local-batch", 0, "samples per worker (default: the one measured most)")
}

// open reads the model and returns the configuration that the flags name;
// its workers are left open.
func (b *baseFlags) open(path string) (*predict.Predictor, data.Config, error) {
	m, err := fit.ReadModel(path)
	if err != nil {
		return nil, data.Config{}, err
	}
	p := &predict.Predictor{Model: m, Price: b.price}
	all, err := plots.TypicalConfigs(p)
	if err != nil {
		return nil, data.Config{}, err
	}
	for _, c := range all {
		if (b.gpuType == "" || c.GPUType == b.gpuType) && (b.mode == "" || string(c.ModeOrDefault()) == b.mode) {
			if b.localBatch > 0 {
				c.LocalBatch = b.localBatch
			}
			return p, c, nil
		}
	}
	return nil, data.Config{}, usageError{fmt.Errorf("the model has no measurement of --gpu-type %q --mode %q; it has %s", b.gpuType, b.mode, measuredKinds(m))}
}
