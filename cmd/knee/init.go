package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"knee/data"
)

// The files that init writes, commented so that they teach the format.
var (
	//go:embed templates/study.yaml
	studyTemplate string
	//go:embed templates/cluster.yaml
	clusterTemplate string
	//go:embed templates/jobs.yaml
	jobsTemplate string
)

func newInit(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a study, a cluster and a jobs file to start from",
		Long: `init writes three files with comments, ready to edit. The study runs the
built-in trainer as it is, so that knee profile study.yaml works at once.`,
		Example: `  knee init
  knee init my-job && cd my-job && knee profile study.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("make the folder: %w", err)
			}
			for _, f := range []struct{ name, text string }{
				{"study.yaml", studyTemplate}, {"cluster.yaml", clusterTemplate}, {"jobs.yaml", jobsTemplate},
			} {
				path := filepath.Join(dir, f.name)
				if _, err := os.Stat(path); err == nil && !force {
					return usageError{fmt.Errorf("%s is there already; use --force to overwrite it", path)}
				}
				if err := data.WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, f.text); return err }); err != nil {
					return err
				}
				fmt.Fprintln(a.stdout, path)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}
