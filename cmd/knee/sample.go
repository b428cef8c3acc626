package main

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"knee/allocate/export"
	"knee/data/samples"
)

func newSample(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "sample [DIR]",
		Short: "Write the measured sample that ships with knee, to try the commands on",
		Long: `sample writes measurements and a training curve of the built-in trainer, their
study, a cluster and a workload to replay, and a README that says where each
comes from.`,
		Example: `  knee sample
  knee sample try && knee fit try/builtin-cpu.csv --curve try/builtin-cpu.curve.csv --initial-batch 32
  knee simulate --cluster try/cluster.yaml --workload try/workload.csv --measurements try/builtin-cpu.csv --policy knee,fifo`,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := filesOf(samples.Files())
			if err != nil {
				return err
			}
			return a.writeNew(append(args, ".")[0], files, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}

// filesOf returns the files of a folder that is linked in.
func filesOf(folder fs.FS) (files []export.File, err error) {
	names, err := fs.Glob(folder, "*")
	for _, name := range names {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		files = append(files, export.File{Name: name, Data: content, Mode: 0o644})
	}
	return files, err
}

// writeNew writes files to a folder, or none if one of them is there, and
// prints their names.
func (a *app) writeNew(dir string, files []export.File, force bool) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Stat(path); err == nil && !force {
			return usageError("%s is there already; use --force to overwrite it", path)
		}
	}
	return saveFiles(dir, files, a.stdout)
}
