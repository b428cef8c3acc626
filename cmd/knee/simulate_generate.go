package main

import (
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate/simulate"
)

func newSimulateGenerate(a *app) *cobra.Command {
	var g simulate.Generator
	var mix, gpus []string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write a workload: random arrivals, heavy-tailed durations, a mix of jobs",
		Long: `generate draws a workload: Poisson arrivals, whose rate can swing over the day,
log-normal durations with a Pareto tail, applications and sizes by weight.`,
		Example: `  knee simulate generate --jobs 160 --hours 8 --seed 1 > workload.csv
  knee simulate generate --jobs 1000 --hours 72 --diurnal 0.8 --gpus 1=6,2=2,8=1
  knee simulate generate --jobs 160 --mix cifar10=4,bert=1
  knee simulate generate --jobs 400 --failing 0.3 --unconverged 0.2 --tenants 8`,
		RunE: func(*cobra.Command, []string) error {
			var err error
			if g.Mix, err = simulate.ParseWeights(mix); err != nil {
				return usageError("--mix %s: %w", strings.Join(mix, ","), err)
			}
			if g.GPUs, err = simulate.ParseWeights(gpus); err != nil {
				return usageError("--gpus %s: %w", strings.Join(gpus, ","), err)
			}
			jobs, err := g.Jobs()
			if err != nil {
				return usageError("%w", err)
			}
			return simulate.WriteWorkload(a.stdout, jobs)
		},
	}
	f := cmd.Flags()
	f.IntVar(&g.Count, "jobs", 160, "number of jobs")
	f.Float64Var(&g.Hours, "hours", 8, "hours over which jobs arrive")
	f.Float64Var(&g.Diurnal, "diurnal", 0, "daily swing of the rate of arrival, 0 to 1")
	f.Float64Var(&g.MedianSeconds, "median", 900, "median duration in seconds")
	f.Float64Var(&g.Sigma, "sigma", 1.2, "spread of the logarithm of durations")
	f.Float64Var(&g.TailShare, "tail", 0.05, "share of jobs in the heavy tail")
	f.Float64Var(&g.Failing, "failing", 0, "share of jobs that fail")
	f.Float64Var(&g.Unconverged, "unconverged", 0, "share of jobs that do not converge")
	f.IntVar(&g.Tenants, "tenants", 0, "number of tenants")
	f.StringSliceVar(&mix, "mix", []string{"job=1"}, "applications and their weights")
	f.StringSliceVar(&gpus, "gpus", []string{"1=5", "2=2", "4=2", "8=1"}, "sizes and their weights")
	f.Int64Var(&g.Seed, "seed", 1, "seed of random draws")
	return cmd
}
