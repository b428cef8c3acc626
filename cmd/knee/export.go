package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"knee/allocate/export"
	"knee/data"
)

func newExport(a *app) *cobra.Command {
	var to, dir string
	cmd := command("export PLAN.json --to TARGET", func(_ *cobra.Command, args []string) error {
		plan, err := data.Load(args[0], data.ReadPlan)
		if err != nil {
			return err
		}
		if beyond := export.BeyondCores(*plan); to == "slurm" && beyond != "" {
			a.warn(beyond)
		}
		a.leaveOut(plan, to)
		exporter, err := export.New(to)
		if err != nil {
			return err
		}
		files, err := exporter(*plan) // its errors name the target
		if err != nil {
			return usageError("%s: %w", args[0], err)
		}
		if dir != "-" {
			return saveFiles(dir, files, a.stdout)
		}
		for _, f := range files {
			if _, err := a.stdout.Write(f.Data); err != nil {
				return err
			}
		}
		return nil
	})
	named(cmd, &to, "to", "", "target", export.Names())
	cmd.Flags().StringVarP(&dir, "dir", "d", ".", "folder to write to; - for standard output")
	required(cmd, "to")
	return cmd
}

// leaveOut drops running jobs without a template that stay as they are, except in tables.
func (a *app) leaveOut(plan *data.Plan, to string) {
	if to == "csv" || to == "json" {
		return
	}
	plan.Jobs = slices.DeleteFunc(plan.Jobs, func(j data.PlannedJob) bool {
		fixed := j.Action == data.Keep && j.Template.IsZero()
		if fixed {
			a.note("%s keeps what it has and has no template: nothing is written for it", j.Name)
		}
		return fixed
	})
}

func saveFiles(dir string, files []export.File, names io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := data.WriteFile(path, func(w io.Writer) error { _, err := w.Write(f.Data); return err }); err != nil {
			return err
		}
		if err := os.Chmod(path, f.Mode); err != nil {
			return err
		}
		fmt.Fprintln(names, path)
	}
	return nil
}
