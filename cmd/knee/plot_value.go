package main

import (
	"fmt"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/plots"

	"github.com/spf13/cobra"
)

// sharingFlags name a cluster, the jobs that share it and who decides, as in
// knee allocate.
type sharingFlags struct {
	cluster, jobs, objective, policy string
	risk                             float64
}

func (f *sharingFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.cluster, "cluster", "", "cluster.yaml (required)")
	fl.StringVar(&f.jobs, "jobs", "", "jobs.yaml (required)")
	fl.StringVar(&f.objective, "objective", "jct", "what a plan is for, as in knee allocate")
	fl.StringVar(&f.policy, "policy", policy.Default, "who decides, as in knee allocate")
	fl.Float64Var(&f.risk, "risk", cautious, "how cautious, from 0 to 1, as in knee allocate")
	for _, name := range []string{"cluster", "jobs"} {
		_ = cmd.MarkFlagRequired(name)
		_ = cmd.MarkFlagFilename(name, "yaml", "yml")
	}
}

// problem loads what the flags name.
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

// words say what was asked, for the subtitle of a figure.
func (f *sharingFlags) words(pr plan.Problem) string {
	return fmt.Sprintf("%d jobs, objective %s, policy %s", len(pr.Jobs), f.objective, f.policy)
}

func newPlotValue(a *app) *cobra.Command {
	var file string
	var f sharingFlags
	cmd := &cobra.Command{
		Use:     "value --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short:   "What clusters of other sizes are worth, and what the next node adds",
		Example: "  knee plot value --cluster cluster.yaml --jobs jobs.yaml -f value.svg",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			pr, err := f.problem()
			if err != nil {
				return err
			}
			points, err := plan.Curve(pr, policy.Solve)
			if err != nil {
				return err
			}
			fig, err := plots.NewClusterValue(plots.ClusterValue{Title: "What a cluster is worth to its jobs", Subtitle: f.words(pr), Points: points})
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "value.svg")
	f.add(cmd)
	return cmd
}
