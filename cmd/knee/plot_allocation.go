package main

import (
	"github.com/spf13/cobra"

	"knee/data"
	"knee/plots"
)

func newPlotAllocation(a *app) *cobra.Command {
	var file, cluster string
	cmd := &cobra.Command{
		Use:     "allocation PLAN.json",
		Short:   "Who gets which GPUs: one bar per node, one colour per job",
		Example: "  knee plot allocation plan.json --cluster cluster.yaml -f allocation.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := data.LoadPlan(args[0])
			if err != nil {
				return err
			}
			c, err := data.LoadCluster(cluster)
			if err != nil {
				return err
			}
			fig, err := plots.NewAllocation(plots.Allocation{Title: "Allocation", Subtitle: planSummary(plan), Cluster: c, Plan: plan})
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "allocation.svg")
	cmd.Flags().StringVar(&cluster, "cluster", "", "the cluster the plan is for (cluster.yaml)")
	_ = cmd.MarkFlagRequired("cluster")
	_ = cmd.MarkFlagFilename("cluster", "yaml", "yml")
	return cmd
}
