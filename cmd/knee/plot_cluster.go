package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/plots"
)

// The figures of a cluster and its jobs.

// sharingFlags name a cluster, its jobs, the objective and the policy, as in knee
// allocate.
type sharingFlags struct {
	cluster, jobs, objective, policy string
	risk                             float64
}

func (f *sharingFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.cluster, "cluster", "", "cluster.yaml (required)")
	fl.StringVar(&f.jobs, "jobs", "", "jobs.yaml (required)")
	fl.StringVar(&f.objective, "objective", "jct", "as in knee allocate")
	fl.StringVar(&f.policy, "policy", policy.Default, "as in knee allocate")
	fl.Float64Var(&f.risk, "risk", cautious, "as in knee allocate")
	for _, name := range []string{"cluster", "jobs"} {
		_ = cmd.MarkFlagRequired(name)
		_ = cmd.MarkFlagFilename(name, "yaml", "yml")
	}
}

// problem loads cluster, jobs and models.
func (f *sharingFlags) problem() (plan.Problem, error) {
	if !(f.risk >= 0 && f.risk <= 1) {
		return plan.Problem{}, usageError{fmt.Errorf("--risk %g: want a number from 0 to 1", f.risk)}
	}
	pr, err := plan.Load(f.cluster, f.jobs)
	if err != nil {
		return pr, err
	}
	pr.Objective, pr.Policy, pr.Risk, pr.FairSlots = f.objective, f.policy, f.risk, pr.Cluster.Slots()
	return pr, nil
}

func allocationPlot() figure {
	var cluster string
	return figure{
		use:     "allocation PLAN.json",
		short:   "Who gets which GPUs: one bar per node, one colour per job",
		example: "  knee plot allocation plan.json --cluster cluster.yaml -f allocation.svg",
		files:   cobra.ExactArgs(1),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&cluster, "cluster", "", "cluster.yaml (required)")
			_ = cmd.MarkFlagRequired("cluster")
			_ = cmd.MarkFlagFilename("cluster", "yaml", "yml")
		},
		draw: func(_ *cobra.Command, files []string) (plots.Figure, error) {
			plan, err := data.LoadPlan(files[0])
			if err != nil {
				return nil, err
			}
			c, err := data.LoadCluster(cluster)
			if err != nil {
				return nil, err
			}
			return plots.NewAllocation(plots.Allocation{Title: "Allocation", Subtitle: planSummary(plan), Cluster: c, Plan: plan})
		},
	}
}

func gainsPlot() figure {
	var gpuType string
	var f sharingFlags
	return figure{
		use:   "gains --cluster CLUSTER.yaml --jobs JOBS.yaml",
		short: "What each further worker gains, and where the allocation stopped",
		long: `gains plans as knee allocate does and draws what each further worker adds to the
objective, in the order of the gain: filled if it was given, hollow if not. A
figure shows one GPU type.`,
		example: "  knee plot gains --cluster cluster.yaml --jobs jobs.yaml -f gains.svg",
		flags: func(cmd *cobra.Command) {
			f.add(cmd)
			cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the most given)")
		},
		draw: func(*cobra.Command, []string) (plots.Figure, error) {
			pr, err := f.problem()
			if err != nil {
				return nil, err
			}
			made, err := policy.Solve(pr)
			if err != nil {
				return nil, err
			}
			stairs, err := plan.Staircases(pr, made)
			if err != nil {
				return nil, err
			}
			return plots.NewGains(plots.GainsOf(stairs, made, pr.Cluster, gpuType))
		},
	}
}
