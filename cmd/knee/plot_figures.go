package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/allocate/objective"
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/grouped"
	"knee/plots"
	"knee/predict"
	"knee/profile"
)

func (a *app) scalabilityPlot() *cobra.Command {
	var f conditionFlags
	var x, y string
	var goodput bool
	cmd := plot(a, "scalability MODEL.json...", f.conditions, func(all []plots.Condition) (*plots.Chart, error) {
		quantity := map[bool]plots.Quantity{false: plots.Throughput, true: plots.Goodput}[goodput]
		spec, err := plots.ScalabilityOf(all, quantity)
		if err != nil {
			return nil, err
		}
		spec.X, spec.Y = plots.Scale(slices.Index(plots.Scales(), x)), plots.Scale(slices.Index(plots.Scales(), y))
		return plots.NewScalability(spec)
	})
	f.add(cmd)
	oneOf(cmd, &x, "x-axis", "scale", plots.Scales()...)
	oneOf(cmd, &y, "y-axis", "scale", plots.Scales()...)
	cmd.Flags().BoolVar(&goodput, "goodput", false, "draw predicted goodput")
	return cmd
}

func (a *app) efficiencyPlot() *cobra.Command {
	var f conditionFlags
	cmd := plot(a, "efficiency MODEL.json...", f.conditions, func(all []plots.Condition) (*plots.Panels, error) {
		types, of := grouped.By(all, func(c plots.Condition) string { return c.Base.GPUType })
		a.warn(f.price.unknown("the figure", types)...)
		for _, gpu := range types {
			if len(f.price) > 0 && of[gpu][0].Predictor.Price[gpu] == 0 {
				a.warn(fmt.Sprintf("costs are in worker-hours, as no --price of %s is given", cmp.Or(gpu, "the GPUs")))
			}
		}
		return plots.NewEfficiency(all)
	})
	f.add(cmd)
	priced(cmd, &f.price)
	return cmd
}

func (a *app) batchPlot() *cobra.Command {
	var workers int
	var base baseFlags
	cmd := plot(a, "batch MODEL.json", base.open, func(c plots.Condition) (*plots.Panels, error) {
		if c.Base.Workers = workers; workers < 1 {
			answers, err := c.Answers()
			if err != nil {
				return nil, err
			}
			within := predict.Inside(answers)
			c.Base = within[max(0, predict.Knee(within))].Config
		}
		return plots.NewBatch(c.Predictor, c.Base, 0, "")
	})
	base.add(cmd)
	bounded(cmd, &workers, "workers", "workers (default: at the knee)", atLeast(1))
	return cmd
}

func (a *app) heatMapPlot() *cobra.Command {
	var base baseFlags
	var workers int
	cmd := plot(a, "heatmap MODEL.json", base.open, func(on plots.Condition) (*plots.Chart, error) {
		gpu := on.Base.GPUType
		measured := on.Predictor.Model.Layouts(gpu)
		if measured == nil {
			return nil, usageError("the model of %s has no layouts; knee plot scalability --by local_batch and knee plot batch show workers and batch", on.Base.Job)
		}
		most := slices.MaxFunc(measured, func(a, b data.Measurement) int { return cmp.Compare(a.Workers, b.Workers) })
		return plots.NewHeatMap(on.Predictor, predict.LayoutQuestion{GPUType: gpu, Workers: cmp.Or(workers, most.Workers)})
	})
	base.add(cmd)
	bounded(cmd, &workers, "workers", "GPUs (default: the most measured)", atLeast(1))
	return cmd
}

func (a *app) speedPlot() *cobra.Command {
	var base baseFlags
	var over string
	cmd := plot(a, "speed MODEL.json", base.open, func(c plots.Condition) (*plots.Chart, error) {
		return plots.NewSpeed(c, over == "ps")
	})
	base.addCurve(cmd)
	oneOf(cmd, &base.mode, "mode", "mode", string(data.PSSync), string(data.PSAsync))
	oneOf(cmd, &over, "over", "horizontal axis", "workers", "ps")
	return cmd
}

func (a *app) whatIfPlot() *cobra.Command {
	var base baseFlags
	var workers string
	var changes []string
	cmd := plot(a, "what-if MODEL.json", base.open, func(c plots.Condition) (*plots.Panels, error) {
		var err error
		if c.Workers, err = counts("workers", workers); err != nil {
			return nil, err
		}
		c.Predictor.Model = onlyOf(c.Predictor.Model, c.Base.GPUType, c.Base.ModeOrDefault())
		changed, err := changedModels(c.Predictor.Model, changes)
		if err != nil {
			return nil, err
		}
		return plots.NewWhatIf(c, changed)
	})
	base.add(cmd)
	cmd.Flags().StringArrayVar(&changes, "change", nil, "as --what-if of knee predict; may be repeated")
	cmd.Flags().StringVar(&workers, "workers", "", workersUsage)
	return cmd
}

// changedModels applies each change; default ones that the model lacks are left out.
func changedModels(m *fit.Model, changes []string) (out []plots.Changed, failed error) {
	names := map[string]string{}
	asked := len(changes) > 0
	if !asked {
		names = map[string]string{"inter_node=0.5x": "network between nodes twice as fast", "intra_node=0.5x": "links within a node twice as fast",
			"transfer=0.5x": "parameter servers twice as fast", "overlap=max": "perfect overlap"}
		changes = []string{"inter_node=0.5x", "intra_node=0.5x", "transfer=0.5x", "overlap=max"}
	}
	for _, text := range changes {
		if changed, err := predict.Change(m, text); err != nil {
			failed = errors.Join(failed, err)
		} else {
			out = append(out, plots.Changed{Name: cmp.Or(names[text], text), Model: changed})
		}
	}
	if !asked && len(out) > 0 {
		failed = nil
	}
	return out, failed
}

func (a *app) convergencePlot() *cobra.Command {
	var job, file string
	var target float64
	var run curveFlags
	var cmd *cobra.Command
	cmd = plot(a, "convergence CURVE.csv",
		func(files []string) ([]data.CurvePoint, error) { file = files[0]; return a.curves(file) },
		func(points []data.CurvePoint) (*plots.Chart, error) {
			points, err := one(points, func(p data.CurvePoint) string { return p.Job }, "job", job, file)
			if err != nil {
				return nil, err
			}
			settings, err := run.settings(a)
			if err != nil {
				return nil, err
			}
			initial := cmp.Or(run.initialBatch, fit.SmallestBatch(points))
			points, _, warnings, _ := fit.Comparable(points, initial, &settings)
			a.warn(warnings...)
			c, err := convergence.Fit(points, initial, settings)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			var goal *float64
			if cmd.Flags().Changed("target-loss") {
				goal = &target
			}
			fig, warnings, err := plots.NewConvergence(c, points, initial, goal)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			a.warn(warnings...)
			return fig, nil
		})
	cmd.Flags().StringVar(&job, "job", "", "which of several jobs")
	cmd.Flags().Float64Var(&target, "target-loss", 0, "loss whose time to mark")
	bounded(cmd, &run.initialBatch, "initial-batch", "global batch to count steps at (default: the smallest)", positive("samples"))
	run.register(cmd)
	return cmd
}

func (a *app) searchPlot() *cobra.Command {
	var study, curve, along, job, file string
	cmd := plot(a, "search MEASUREMENTS.csv",
		func(files []string) ([]data.Measurement, error) {
			file = files[0]
			return a.rows(data.Import{}, "", file)
		},
		func(ms []data.Measurement) (plots.Figure, error) {
			ms, err := one(ms, func(m data.Measurement) string { return m.Job }, "job", job, file)
			if err != nil {
				return nil, err
			}
			if (study == "") != (along == "") || curve != "" && study == "" {
				return nil, usageError("--study, --along and --curve: want --study and --along, or none")
			}
			points, err := a.curves(curve)
			if err != nil {
				return nil, err
			}
			if along == "" {
				return plots.NewSearch("", ms)
			}
			s, err := data.Load(study, data.ReadStudy)
			if err != nil {
				return nil, err
			}
			if ms, _, err = profile.Recognise(s, ms); err != nil {
				return nil, err
			}
			a.checkEfficiency(s, ms, points)
			return plots.NewSurrogate(s, ms, points, along)
		})
	cmd.Flags().StringVar(&job, "job", "", "which of several jobs")
	cmd.Flags().StringVar(&study, "study", "", "study that was searched")
	cmd.Flags().StringVar(&curve, "curve", "", "training curves, for the objective goodput")
	cmd.Flags().StringVar(&along, "along", "", "knob on the horizontal axis")
	return cmd
}

func (a *app) residualsPlot() *cobra.Command {
	var v validateFlags
	var cmd *cobra.Command
	cmd = plot(a, "residuals MEASUREMENTS.csv...",
		func(files []string) (*predict.Validation, error) { return v.run(a, cmd, files) },
		func(val *predict.Validation) (*plots.Chart, error) {
			jobs, _ := grouped.By(val.Residuals, func(r predict.Residual) string { return r.Measured.Job })
			title := "Residuals of " + jobs[0]
			if len(jobs) > 1 {
				title = fmt.Sprintf("Residuals of %d jobs", len(jobs))
			}
			return plots.NewResiduals(title, val)
		})
	v.add(cmd)
	return cmd
}

func (a *app) allocationPlot() *cobra.Command {
	var cluster string
	cmd := plot(a, "allocation PLAN.json --cluster CLUSTER.yaml",
		func(files []string) (*data.Plan, error) { return data.Load(files[0], data.ReadPlan) },
		func(plan *data.Plan) (*plots.Chart, error) {
			c, err := data.Load(cluster, data.ReadCluster)
			if err != nil {
				return nil, err
			}
			return plots.NewAllocation("Allocation", planSummary(plan), c, plan)
		})
	fileFlag(cmd, &cluster, "cluster", "cluster.yaml (required)", "yaml", "yml")
	required(cmd, "cluster")
	return cmd
}

func (a *app) gainsPlot() *cobra.Command {
	var gpuType string
	var f sharingFlags
	cmd := plot(a, "gains --cluster CLUSTER.yaml --jobs JOBS.yaml",
		func([]string) (plan.Problem, error) { return f.load() },
		func(pr plan.Problem) (*plots.Chart, error) {
			made, err := policy.Solve(pr)
			if err != nil {
				return nil, err
			}
			stairs, err := plan.Staircases(pr, made)
			if err != nil {
				return nil, err
			}
			return plots.NewGains(stairs, made, pr.Cluster, data.GPUTypeOf(gpuType))
		})
	f.addShared(cmd)
	cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the most given)")
	return cmd
}

func (a *app) valuePlot() *cobra.Command {
	var f sharingFlags
	cmd := plot(a, "value --cluster CLUSTER.yaml --jobs JOBS.yaml",
		func([]string) (plan.Problem, error) { return f.load() },
		func(pr plan.Problem) (*plots.Panels, error) {
			points, err := plan.Curve(pr, policy.Solve)
			if err != nil {
				return nil, err
			}
			about := fmt.Sprintf("%s, objective %s, policy %s", english.Plural(len(pr.Jobs), "job", ""), cmp.Or(f.objective, objective.Default), f.policy)
			return plots.NewClusterValue(about, points)
		})
	f.addShared(cmd)
	return cmd
}

func (a *app) simulationPlot() *cobra.Command {
	var workload, file string
	cmd := plot(a, "simulation JOBS.csv | USAGE.csv",
		func(files []string) ([]byte, error) { file = files[0]; return data.ReadFile(file) },
		func(content []byte) (plots.Figure, error) {
			if header, _, _ := bytes.Cut(content, []byte("\n")); bytes.Contains(header, []byte("gpus_used")) {
				used, err := simulate.ReadUsage(bytes.NewReader(content), file)
				runs, err := chosen(used, err, file, workload)
				if err != nil {
					return nil, err
				}
				return plots.NewOccupancy("GPUs in use", runs)
			}
			jobs, err := simulate.ReadOutcomes(bytes.NewReader(content), file)
			runs, err := chosen(jobs, err, file, workload)
			if err != nil {
				return nil, err
			}
			return plots.NewSimulation("Job completion times", runs)
		})
	cmd.Flags().StringVar(&workload, "workload", "", "which of several workloads (default: the first)")
	return cmd
}

// chosen returns the replays of a workload, by default the first, unless err is set.
func chosen(all []simulate.Replayed, err error, file, workload string) ([]simulate.Replayed, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	of := func(r simulate.Replayed) string { return r.Workload }
	return one(all, of, "workload", cmp.Or(workload, of(all[0])), file)
}
