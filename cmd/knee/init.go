package main

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate/export"
	"knee/data/samples"
	"knee/profile/draft"
)

// templates are the files that init writes, with comments that teach the format.
//
//go:embed templates
var templates embed.FS

func newInit(a *app) *cobra.Command {
	var force bool
	cmd := command("init [DIR] [-- COMMAND...]", func(cmd *cobra.Command, args []string) error {
		files, err := filesOf(templates, "templates")
		if err != nil {
			return err
		}
		dash := cmd.ArgsLenAtDash()
		if dash < 0 || dash == len(args) {
			return a.writeNew(append(args, ".")[0], files, force)
		}
		dir, training := append(args[:dash:dash], ".")[0], args[dash:]
		if len(training) == 1 && len(strings.Fields(training[0])) > 1 {
			return usageError("the command after -- is one word, %q: leave out the quotes around it", training[0])
		}
		machine, err := machineOfCores()
		if err != nil {
			return err
		}
		if c, _, err := thisMachine(cmd.Context()); err == nil { // else knee doctor says why
			machine = c.Nodes[0]
		}
		d := draft.New(training, machine, ".")
		for i, f := range files {
			switch f.Name {
			case "study.yaml":
				files[i].Data = []byte(d.Text)
			case "jobs.yaml":
				replace := []string{"name: small", "name: " + d.Job, "[python, train.py]", d.Command}
				if d.GlobalBatch != "" {
					replace = append(replace, "{initial: 32, max: 1024, adapt: true}", "{initial: "+d.GlobalBatch+"}")
				}
				files[i].Data = []byte(strings.NewReplacer(replace...).Replace(string(f.Data)))
			}
		}
		if err := a.writeNew(dir, files, force); err != nil {
			return err
		}
		for _, n := range d.Notes {
			a.note("to do: %s", n)
		}
		a.note("then, in this folder, where the command of the study is found: knee profile %s", filepath.Join(dir, "study.yaml"))
		return nil
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if n := cmd.ArgsLenAtDash(); n > 1 || n < 0 && len(args) > 1 {
			return usageError("knee init takes one folder, got %q; a training command goes after --", args)
		}
		return nil
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}

func newSample(a *app) *cobra.Command {
	var force bool
	cmd := command("sample [DIR]", func(_ *cobra.Command, args []string) error {
		files, err := filesOf(samples.Files(), ".")
		if err != nil {
			return err
		}
		return a.writeNew(append(args, ".")[0], files, force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that are there")
	return cmd
}

// filesOf returns the files of a folder that is linked in.
func filesOf(in fs.FS, folder string) (files []export.File, err error) {
	names, err := fs.Glob(in, path.Join(folder, "*"))
	for _, name := range names {
		content, err := fs.ReadFile(in, name)
		if err != nil {
			return nil, err
		}
		files = append(files, export.File{Name: path.Base(name), Data: content, Mode: 0o644})
	}
	return files, err
}

// writeNew writes files and prints their names; none if one of them is there.
func (a *app) writeNew(dir string, files []export.File, force bool) error {
	for _, f := range files {
		file := filepath.Join(dir, f.Name)
		if _, err := os.Stat(file); err == nil && !force {
			return usageError("%s is there already; use --force to overwrite it", file)
		}
	}
	return saveFiles(dir, files, a.stdout)
}
