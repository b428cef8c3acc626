package main

import (
	"context"
	_ "embed"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"knee/profile/draft"
)

// The files that init writes, commented so that they teach the format.
var (
	//go:embed templates/study.yaml
	studyTemplate string
	//go:embed templates/cluster.yaml
	clusterTemplate []byte
	//go:embed templates/jobs.yaml
	jobsTemplate []byte
)

func newInit(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [DIR] [-- COMMAND...]",
		Short: "Write a study, a cluster and a jobs file to start from",
		Long: `init writes three files with comments, ready to edit: what to measure
(study.yaml), where (cluster.yaml) and what to plan (jobs.yaml).

With a training command after --, the study measures that: its batch and number
of processes become templates, and the space fits this machine. Without one it
runs the built-in trainer, so that knee profile works at once.`,
		Example: `  knee init
  knee init my-job && cd my-job && knee profile study.yaml
  knee init my-job -- torchrun --nproc-per-node=4 train.py --batch-size 64`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n > 1 || n < 0 && len(args) > 1 {
				return usageError("knee init takes one folder, got %q; a training command goes after --", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, command := ".", []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, command = args[:n], args[n:]
			}
			if len(args) > 0 {
				dir = args[0]
			}
			if len(command) == 0 {
				return a.writeStart(dir, studyTemplate, force)
			}
			d := draft.New(command, draftMachine(cmd.Context()), ".")
			if err := a.writeStart(dir, d.Text, force); err != nil {
				return err
			}
			for _, n := range d.Notes {
				a.note("to do: %s", n)
			}
			a.note("then, in this folder, where the command of the study is found: knee profile %s", filepath.Join(dir, "study.yaml"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}

// writeStart writes the three files, or none if one of them is there.
func (a *app) writeStart(dir, study string, force bool) error {
	return a.writeNew(dir, []newFile{{"study.yaml", []byte(study)}, {"cluster.yaml", clusterTemplate}, {"jobs.yaml", jobsTemplate}}, force)
}

// draftMachine describes this machine for a drafted study. GPUs that do not
// answer are left out: knee doctor says why.
func draftMachine(ctx context.Context) draft.Machine {
	m := draft.Machine{GPUType: "cpu", Cores: runtime.NumCPU()}
	if c, _, err := thisMachine(ctx); err == nil && c.Nodes[0].GPUType != "cpu" {
		m.GPUType, m.GPUs = c.Nodes[0].GPUType, c.Nodes[0].GPUs
	}
	return m
}
