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
	cmd := command("train", func(cmd *cobra.Command, _ []string) error {
		if envErr != nil {
			return usageError("%w", envErr)
		}
		return trainer.Run(cmd.Context(), opts, a.stdout, a.stderr)
	})
	cmd.Hidden = true
	cmd.Flags().AddGoFlagSet(&flags)
	return cmd
}

// newGuard is the watchdog that a profiling knee starts beside itself.
func newGuard() *cobra.Command {
	cmd := command("guard", func(*cobra.Command, []string) error { return launch.Guard(os.Stdin) })
	cmd.Hidden = true
	return cmd
}
