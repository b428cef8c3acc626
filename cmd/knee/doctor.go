package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/profile/doctor"
)

func newDoctor(a *app) *cobra.Command {
	var dir string
	cmd := answering("doctor", func(cmd *cobra.Command, _ []string, out format) error {
		findings := doctor.Examine(cmd.Context(), doctor.Machine{Dir: dir})
		t := tableOf(findings, "check,status,found,for,advice")
		t.people = tableOf(findings, "check,status,found")
		if err := out.print(a.stdout, findings, t); err != nil {
			return err
		}
		broken := 0
		for _, f := range findings {
			if f.Status == doctor.Broken {
				broken++
			}
			if f.Advice != "" {
				a.note("%s (for %s): %s", f.Check, f.For, f.Advice)
			}
		}
		if broken > 0 {
			return fmt.Errorf("%s found something broken", english.Plural(broken, "check", ""))
		}
		return nil
	})
	cmd.Flags().StringVar(&dir, "dir", ".", "folder for measurements")
	return cmd
}
