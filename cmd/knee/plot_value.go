package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/plots"
)

func newPlotValue(a *app) *cobra.Command {
	var file, cluster, jobs, objective, chosen string
	cmd := &cobra.Command{
		Use:     "value --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short:   "What clusters of other sizes are worth, and what the next node adds",
		Example: "  knee plot value --cluster cluster.yaml --jobs jobs.yaml -f value.svg",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			pr, err := loadProblem(cluster, jobs)
			if err != nil {
				return err
			}
			pr.Objective, pr.Policy, pr.FairSlots = objective, chosen, pr.Cluster.Slots()
			points, err := allocate.Curve(pr, policy.Solve)
			if err != nil {
				return err
			}
			fig, err := plots.NewClusterValue(plots.ClusterValue{Title: "What a cluster is worth to its jobs",
				Subtitle: fmt.Sprintf("%d jobs, objective %s, policy %s", len(pr.Jobs), objective, chosen), Points: points})
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "value.svg")
	cmd.Flags().StringVar(&cluster, "cluster", "", "cluster.yaml (required)")
	cmd.Flags().StringVar(&jobs, "jobs", "", "jobs.yaml (required)")
	cmd.Flags().StringVar(&objective, "objective", "jct", "what a plan is for, as in knee allocate")
	cmd.Flags().StringVar(&chosen, "policy", allocate.PolicyMarginalGain, "who decides, as in knee allocate")
	_ = cmd.MarkFlagRequired("cluster")
	_ = cmd.MarkFlagRequired("jobs")
	_ = cmd.MarkFlagFilename("cluster", "yaml", "yml")
	_ = cmd.MarkFlagFilename("jobs", "yaml", "yml")
	return cmd
}
