package main

import (
	"errors"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

// The figures of a model.

func scalabilityPlot() figure {
	var f conditionFlags
	var axes axisFlags
	var goodput bool
	return figure{
		use:   "scalability MODEL.json...",
		short: "Throughput against workers: measured, predicted with its 90 % band, ideal, and the knee",
		long: `scalability draws a curve for every GPU type and mode of the models, at the batch
measured most. Lists draw more: --gpu-type a100,v100, --local-batch 32,64,
--by x_width. A curve is named by what it differs in; the subtitle says what all
share. Where a global batch was measured on more numbers of workers than any local
batch, it is divided among the workers.`,
		example: `  knee plot scalability model.json -f scalability.svg
  knee plot scalability model.json --by local_batch -f batches.svg
  knee plot scalability model.json --gpu-type a100 --global-batch 512 --workers 1..64*2 -f a100.png`,
		files: cobra.MinimumNArgs(1),
		flags: func(cmd *cobra.Command) {
			f.add(cmd)
			axes.add(cmd)
			cmd.Flags().BoolVar(&goodput, "goodput", false, "draw predicted goodput")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			all, err := f.conditions(files)
			if err != nil {
				return nil, err
			}
			quantity := plots.Throughput
			if goodput {
				quantity = plots.Goodput
			}
			spec, err := plots.ScalabilityOf(all, quantity)
			if err != nil {
				return nil, err
			}
			if spec.X, spec.Y, err = axes.scales(); err != nil {
				return nil, err
			}
			return plots.NewScalability(spec)
		},
	}
}

func efficiencyPlot() figure {
	var f conditionFlags
	return figure{
		use:   "efficiency MODEL.json...",
		short: "Scaling efficiency and cost against workers",
		example: `  knee plot efficiency model.json -f efficiency.svg
  knee plot efficiency model.json --price a100=3.2 -f cost.png`,
		files: cobra.MinimumNArgs(1),
		flags: func(cmd *cobra.Command) {
			f.add(cmd)
			cmd.Flags().Var(f.price, "price", "US$ per worker-hour, such as a100=3.2")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			all, err := f.conditions(files)
			if err != nil {
				return nil, err
			}
			return drawing(plots.NewEfficiency)(plots.EfficiencyOf(all))
		},
	}
}

func batchPlot() figure {
	var workers int
	var base baseFlags
	return figure{
		use:   "batch MODEL.json",
		short: "Throughput, goodput and statistical efficiency against the batch",
		example: `  knee plot batch model.json -f batch.svg
  knee plot batch model.json --workers 8 -f batch.png`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			base.add(cmd)
			cmd.Flags().IntVar(&workers, "workers", 0, "workers (default: at the knee)")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			c, err := base.open(files[0])
			if err != nil {
				return nil, err
			}
			if c.Base.Workers = workers; workers < 1 {
				answers, err := c.Answers()
				if err != nil {
					return nil, err
				}
				c.Base = answers[max(0, predict.Knee(answers))].Config
			}
			return drawing(plots.NewBatch)(plots.BatchOf(c.Predictor, c.Base, 0))
		},
	}
}

func heatMapPlot() figure {
	var base baseFlags
	var workers int
	return figure{
		use:     "heatmap MODEL.json",
		short:   "Throughput over tensor- and pipeline-parallel degrees",
		example: "  knee plot heatmap model.json -f heatmap.svg",
		files:   cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			base.add(cmd)
			cmd.Flags().IntVar(&workers, "workers", 0, "GPUs (default: the most measured)")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			on, err := base.open(files[0])
			if err != nil {
				return nil, err
			}
			gpu := on.Base.GPUType
			measured := on.Predictor.Model.Layouts(gpu)
			if measured == nil {
				return nil, usageError("%s has no layouts; knee plot scalability --by local_batch and knee plot batch show workers and batch", files[0])
			}
			if workers == 0 {
				for _, m := range measured {
					workers = max(workers, m.Workers)
				}
			}
			return drawing(plots.NewHeatMap)(plots.LayoutHeat(on.Predictor, predict.LayoutQuestion{GPUType: gpu, Workers: workers}))
		},
	}
}

func speedPlot() figure {
	var base baseFlags
	var over string
	return figure{
		use:   "speed MODEL.json",
		short: "Speed with parameter servers, against workers or ps",
		example: `  knee plot speed model.json --over workers -f workers.svg
  knee plot speed model.json --over ps --mode ps-async -f ps.svg`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			base.add(cmd)
			base.mode = string(data.PSSync)
			cmd.Flags().Lookup("mode").Usage = "ps-sync or ps-async (default ps-sync)"
			cmd.Flags().StringVar(&over, "over", "workers", "horizontal axis: workers or ps")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			if over != "workers" && over != "ps" {
				return nil, usageError("--over %q: want workers or ps", over)
			}
			if !data.Mode(base.mode).UsesPS() {
				return nil, usageError("--mode %q: want ps-sync or ps-async", base.mode)
			}
			c, err := base.open(files[0])
			if err != nil {
				return nil, err
			}
			return drawing(plots.NewScalability)(plots.SpeedOf(c, over == "ps"))
		},
	}
}

func whatIfPlot() figure {
	var base baseFlags
	var workers string
	var changes []string
	return figure{
		use:   "what-if MODEL.json",
		short: "What a faster link or better overlap would bring",
		long: `what-if draws the speed against workers as it is and under each change, and by
how much each makes a step faster, with 90 % intervals. Without --change it asks
for links that take half as long and for perfect overlap.`,
		example: `  knee plot what-if model.json -f what-if.svg
  knee plot what-if model.json --change inter_node=0.5x --change inter_node=0.5x,overlap=max -f links.svg`,
		files: cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			base.add(cmd)
			cmd.Flags().StringArrayVar(&changes, "change", nil, "as --what-if of knee predict; may be repeated")
			cmd.Flags().StringVar(&workers, "workers", "", workersUsage)
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			c, err := base.open(files[0])
			if err != nil {
				return nil, err
			}
			if c.Workers, err = optionalCounts(workers); err != nil {
				return nil, err
			}
			only := *c.Predictor.Model
			only.Model = only.Only(c.Base.GPUType, c.Base.ModeOrDefault())
			c.Predictor.Model = &only
			changed, err := changedModels(&only, changes)
			if err != nil {
				return nil, err
			}
			return drawing(plots.NewWhatIf)(plots.WhatIfOf(c, changed))
		},
	}
}

// changedModels applies each change. Default changes of parameters that the model
// lacks are left out.
func changedModels(m *fit.Model, changes []string) ([]plots.Changed, error) {
	asked := len(changes) > 0
	names := map[string]string{"inter_node=0.5x": "network between nodes twice as fast", "intra_node=0.5x": "links within a node twice as fast",
		"transfer=0.5x": "parameter servers twice as fast", "overlap=max": "perfect overlap"}
	if !asked {
		changes = []string{"inter_node=0.5x", "intra_node=0.5x", "transfer=0.5x", "overlap=max"}
	}
	var out []plots.Changed
	var failed error
	for _, text := range changes {
		parsed, err := parseChanges(text)
		if err != nil {
			return nil, err
		}
		changed := *m
		if changed.Model, err = m.WhatIf(parsed); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		name := text
		if !asked {
			name = names[text]
		}
		out = append(out, plots.Changed{Name: name, Model: &changed})
	}
	if failed != nil && (asked || len(out) == 0) {
		return nil, failed
	}
	return out, nil
}
