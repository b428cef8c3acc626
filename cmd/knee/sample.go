package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"knee/data"
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
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			files, err := sampleFiles()
			if err != nil {
				return err
			}
			return a.writeNew(dir, files, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}

// newFile is a file to start from, written by init or sample.
type newFile struct {
	name    string
	content []byte
}

func sampleFiles() ([]newFile, error) {
	entries, err := fs.ReadDir(samples.Files(), ".")
	var files []newFile
	for _, e := range entries {
		content, readErr := fs.ReadFile(samples.Files(), e.Name())
		files, err = append(files, newFile{e.Name(), content}), errors.Join(err, readErr)
	}
	return files, err
}

// writeNew writes files to a folder, or none if one of them is there, and
// prints their names.
func (a *app) writeNew(dir string, files []newFile, force bool) error {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if _, err := os.Stat(path); err == nil && !force {
			return usageError("%s is there already; use --force to overwrite it", path)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := data.WriteFile(path, func(w io.Writer) error { _, err := w.Write(f.content); return err }); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, path)
	}
	return nil
}
