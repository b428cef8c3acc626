package main

import (
	"os"

	"github.com/spf13/cobra"

	"knee/profile/launch"
)

// newGuard is the watchdog that a profiling knee starts beside itself.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use:    "guard",
		Short:  "End the trials of a knee that has died (started by knee itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return launch.Guard(os.Stdin) },
	}
}
