package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

func newPlotScalability(a *app) *cobra.Command {
	var file, workers, gpuType string
	var localBatch float64
	knobs := knobFlag{}
	cmd := &cobra.Command{
		Use:   "scalability MODEL.json",
		Short: "Throughput against workers: measured, fitted with its 90 % band, ideal, and the knee",
		Example: `  knee plot scalability model.json -f scalability.svg
  knee plot scalability model.json --knob width=96,128 -f widths.svg
  knee plot scalability model.json --gpu-type a100 --local-batch 64 --workers 1..64*2 -f a100.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := fit.ReadModel(args[0])
			if err != nil {
				return err
			}
			var ks []int
			if workers != "" {
				if ks, err = counts("workers", workers); err != nil {
					return err
				}
			}
			if gpuType == "" {
				gpuType = m.GPUTypes()[0]
			}
			if len(m.Modes(gpuType)) == 0 {
				return usageError{fmt.Errorf("the model has no measurement of --gpu-type %q; it has %s", gpuType, measuredKinds(m))}
			}
			if err := knobs.check(m); err != nil {
				return err
			}
			fig, err := scalabilityFigure(&predict.Predictor{Model: m}, gpuType, localBatch, knobs, ks)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "scalability.svg")
	cmd.Flags().StringVar(&workers, "workers", "", "numbers of workers: 1,2,4 or 1..16 or 1..64*2 (default: twice the range measured)")
	cmd.Flags().Var(knobs, "knob", "values of one of the study's own knobs, a curve each: NAME=VALUE,VALUE (default: the value measured most)")
	cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the first of the model)")
	cmd.Flags().Float64Var(&localBatch, "local-batch", 0, "samples per worker (default: the one measured most)")
	return cmd
}

// scalabilityFigure draws one curve per mode and setting of the knobs, each with the number of ps
// that gives it the highest peak.
func scalabilityFigure(p *predict.Predictor, gpuType string, localBatch float64, knobs knobFlag, workers []int) (plots.Figure, error) {
	if p.Model.Layouts(gpuType) != nil {
		return layoutFigure(p, gpuType, workers)
	}
	modes := p.Model.Modes(gpuType)
	if localBatch == 0 {
		localBatch = plots.CommonBatch(p.Model, gpuType, modes...)
	}
	spec := plots.Scalability{Title: "Scalability of " + p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s samples per worker", gpuType, number(localBatch)),
		Quantity: plots.Throughput, Ideal: true}
	if localBatch == 0 {
		spec.Quantity, spec.Subtitle = plots.Speed, gpuType
	}
	for _, mode := range modes {
		ks, servers := predict.Sizes(p.Model, gpuType, mode)
		if workers != nil {
			ks = workers
		}
		for _, extra := range knobs.settings() {
			var best plots.Series
			for _, ps := range servers {
				s, err := plots.ModelSeries(p, data.Config{Job: p.Model.Job(), GPUType: gpuType, Mode: mode, PS: ps, LocalBatch: localBatch, Extra: extra}, ks, spec.Quantity)
				if err != nil {
					return nil, err
				}
				if best.Curve == nil || peak(s) > peak(best) {
					best = s
				}
			}
			spec.Series = append(spec.Series, best)
		}
	}
	return plots.NewScalability(spec)
}

// layoutFigure draws the throughput of the fastest layout at each number of workers.
func layoutFigure(p *predict.Predictor, gpuType string, workers []int) (plots.Figure, error) {
	if workers == nil {
		workers = predict.LayoutSizes(p.Model.Layouts(gpuType))
	}
	q := predict.LayoutQuestion{GPUType: gpuType}
	s, layouts, err := plots.LayoutSeries(p, q, workers)
	if err != nil {
		return nil, err
	}
	return plots.NewScalability(plots.Scalability{Title: "Scalability of " + p.Model.Job(),
		Subtitle: fmt.Sprintf("%s, %s samples per step, layout by size: %s", gpuType, number(p.LayoutBatch(q)), strings.Join(layouts, "; ")),
		Quantity: plots.Throughput, Ideal: true, Series: []plots.Series{s}})
}

// peak is the largest expected value of a curve.
func peak(s plots.Series) float64 {
	most := 0.0
	for _, b := range s.Curve {
		most = max(most, b.Mean)
	}
	return most
}
