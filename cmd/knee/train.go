package main

import (
	"flag"
	"os"

	"github.com/spf13/cobra"

	"knee/profile/launch"
	"knee/profile/trainer"
)

func newTrain(a *app) *cobra.Command {
	var flags flag.FlagSet
	opts, envErr := trainer.FromEnv(os.Getenv)
	opts.Bind(&flags)
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train the built-in model: one rank, as the environment says",
		Long: `train is the built-in training workload: real stochastic gradient descent on
generated data, by as many worker and parameter-server processes as a launcher
starts. RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the KNEE_ variables give
its rank; without them it trains alone.`,
		Example: "  knee train --model small --steps 100\n" +
			"  command: [knee, train, --model, large]        # in a study with launcher: {local: {ranks: true}}",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if envErr != nil {
				return usageError("%w", envErr)
			}
			return trainer.Run(cmd.Context(), opts, a.stdout, a.stderr)
		},
	}
	cmd.Flags().AddGoFlagSet(&flags)
	return cmd
}

// newGuard is the watchdog that a profiling knee starts beside itself.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use:    "guard",
		Short:  "End the trials of a knee that has died (started by knee itself)",
		Hidden: true,
		RunE:   func(*cobra.Command, []string) error { return launch.Guard(os.Stdin) },
	}
}
