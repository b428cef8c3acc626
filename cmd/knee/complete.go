package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// completes lets the shell complete the value of a flag from names.
func completes(cmd *cobra.Command, flag string, names []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// completesList does so for a flag of several names with commas between them,
// each of which is offered once.
func completesList(cmd *cobra.Command, flag string, names []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var offered []string
		for _, n := range names {
			if !strings.Contains(","+before, ","+n+",") {
				offered = append(offered, before+n)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
