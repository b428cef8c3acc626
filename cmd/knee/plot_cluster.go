package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"knee/allocate/objective"
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/plots"
)

// The figures of a cluster and its jobs.

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
			f.addShared(cmd)
			cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the most given)")
		},
		draw: func(*cobra.Command, []string) (plots.Figure, error) {
			pr, err := f.load()
			if err != nil {
				return nil, err
			}
			pr.FairSlots = pr.Cluster.Slots()
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

func valuePlot() figure {
	var f sharingFlags
	return figure{
		use:     "value --cluster CLUSTER.yaml --jobs JOBS.yaml",
		short:   "What clusters of other sizes are worth, and what the next node adds",
		example: "  knee plot value --cluster cluster.yaml --jobs jobs.yaml -f value.svg",
		flags:   f.addShared,
		draw: func(*cobra.Command, []string) (plots.Figure, error) {
			pr, err := f.load()
			if err != nil {
				return nil, err
			}
			pr.FairSlots = pr.Cluster.Slots()
			points, err := plan.Curve(pr, policy.Solve)
			if err != nil {
				return nil, err
			}
			about := fmt.Sprintf("%d jobs, objective %s, policy %s", len(pr.Jobs), cmp.Or(f.objective, objective.Default), f.policy)
			return plots.NewClusterValue(plots.ClusterValue{Title: "What a cluster is worth to its jobs", Subtitle: about, Points: points})
		},
	}
}
