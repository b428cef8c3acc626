package main

import (
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/plots"

	"github.com/spf13/cobra"
)

func newPlotGains(a *app) *cobra.Command {
	var file, gpuType string
	var f sharingFlags
	cmd := &cobra.Command{
		Use:   "gains --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short: "What each further worker gains, and where the allocation stopped",
		Long: `gains plans as knee allocate does and draws what each further worker gains in the
objective: the steps of all jobs in the order of their gain, filled those that
were given and hollow what the next workers would bring. Workers of different GPU
types are not exchanged for one another: a figure shows one type.`,
		Example: "  knee plot gains --cluster cluster.yaml --jobs jobs.yaml -f gains.svg",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			pr, err := f.problem()
			if err != nil {
				return err
			}
			made, err := policy.Solve(pr)
			if err != nil {
				return err
			}
			stairs, err := plan.Staircases(pr, made)
			if err != nil {
				return err
			}
			spec := plots.GainsOf(stairs, made, pr.Cluster, gpuType)
			fig, err := plots.NewGains(spec)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "gains.svg")
	f.add(cmd)
	cmd.Flags().StringVar(&gpuType, "gpu-type", "", "GPU type (default: the one of which most are given)")
	return cmd
}
