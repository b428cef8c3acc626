package main

import (
	"github.com/spf13/cobra"
)

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare methods on recorded data",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchSearch(a), newBenchTarget(a))
	return cmd
}
