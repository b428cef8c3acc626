package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/internal/term"
)

// app holds what all commands share: output streams and global flags.
type app struct {
	stdout, stderr io.Writer
	interrupts     *interrupts
	quiet          bool
	theme          string // of figures, as their title and size
	title, size    string
}

const helpWidth = 80

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "knee",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			return cmp.Or(misused(cmd, cmd.ValidateRequiredFlags()), misused(cmd, cmd.ValidateFlagGroups()), distinct(cmd, args))
		},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			meant := ""
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
				meant = fmt.Sprintf(" (did you mean %s?)", strings.Join(like, " or "))
			}
			return usageError("unknown command %q%s; see 'knee help'", args[0], meant)
		},
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "print no progress")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpWidth)))
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "gpu" { // for short
			name = "gpu-type"
		}
		return pflag.NormalizedName(name)
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if is[*strconv.NumError](err) {
				return usageError("--%s %s: want a number", invalid.GetFlag().Name, invalid.GetValue())
			}
			return usageError("--%s %s: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
		}
		return misused(cmd, err)
	})
	root.AddGroup(
		&cobra.Group{ID: "start", Title: "To start:"},
		&cobra.Group{ID: "measure", Title: "To measure:"},
		&cobra.Group{ID: "model", Title: "To model:"},
		&cobra.Group{ID: "share", Title: "To share a cluster:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("start", newQuickstart(a), newInit(a), newSample(a), newDoctor(a))
	add("measure", newProfile(a), newRead(a), newSuggest(a), newBench(a))
	add("model", newFit(a), newValidate(a), newPredict(a), newPlot(a), newReport(a))
	add("share", newCluster(a), newJobs(a), newAllocate(a), newExport(a), newApply(a), newOperate(a), newShard(a), newCheck(a), newSimulate(a), newPairs(a))
	root.AddCommand(newMan(), newVersion(a), newTrain(a), newGuard())
	root.InitDefaultCompletionCmd()
	complete(root)
	return root
}

// command returns a command without flags, whose texts are in help.txt.
func command(use string, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, RunE: run}
}

// group returns a command that only holds others.
func group(use string, cmds ...*cobra.Command) *cobra.Command {
	cmd := command(use, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.AddCommand(cmds...)
	return cmd
}

// helpText has for every command a line and paragraphs that describe it, and examples.
//
//go:embed help.txt
var helpText string

// describe sets the texts of a command to those in help.txt, if it has some.
func describe(cmd *cobra.Command) {
	_, text, found := strings.Cut(helpText, "\n# "+cmd.CommandPath()+"\n\n")
	if !found {
		return // a command of cobra
	}
	text, _, _ = strings.Cut(text, "\n# ")
	text, examples, _ := strings.Cut(text, "\nExamples:\n")
	cmd.Short, cmd.Long, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	cmd.Example = strings.TrimRight(examples, "\n")
}

// complete gives a command and those below it their texts and the arguments that their use
// shows, lets the shell complete these, and writes defaults plainly, which pflag shows as [1.000000].
func complete(cmd *cobra.Command) {
	describe(cmd)
	rule := cmd.Args
	if rule == nil {
		rule = argsOf(cmd.Use)
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return misused(cmd, rule(cmd, args)) }
	_, rest, _ := strings.Cut(cmd.Use, " ")
	argument, _, _ := strings.Cut(rest, " ")
	if of := strings.Trim(filepath.Ext(strings.TrimRight(argument, ".]")), "."); of != "" {
		cmd.ValidArgsFunction = cobra.FixedCompletions([]string{of, "gz"}, cobra.ShellCompDirectiveFilterFileExt)
	}
	_ = cmd.MarkFlagDirname("dir") // an error where there is none
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); kind == "float64Slice" || kind == "stringToString" {
			f.DefValue = strings.TrimSuffix(strings.Trim(f.DefValue, "[]"), ".000000")
		}
	})
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

// argsOf is the rule of arguments by a use: FILE one, FILE... one or more, [FILE] optional.
func argsOf(use string) cobra.PositionalArgs {
	_, rest, _ := strings.Cut(use, " ")
	word, _, _ := strings.Cut(rest, " ")
	optional, many := strings.HasPrefix(word, "["), strings.HasSuffix(strings.TrimSuffix(word, "]"), "...")
	switch {
	case word == "" || strings.HasPrefix(strings.TrimPrefix(word, "["), "-"):
		return cobra.NoArgs
	case optional && many:
		return cobra.ArbitraryArgs
	case many:
		return cobra.MinimumNArgs(1)
	case optional:
		return cobra.MaximumNArgs(1)
	}
	return cobra.ExactArgs(1)
}

// misused makes an error of cobra about a command line a [usageError].
func misused(cmd *cobra.Command, err error) error {
	if err == nil || is[exitError](err) {
		return err
	}
	meant := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant = data.Closest(unknown.GetSpecifiedName(), names); meant != "" {
			meant = " (did you mean --" + meant + "?)"
		}
	}
	return usageError("%s: %w%s; see '%s --help'", cmd.CommandPath(), err, meant, cmd.CommandPath())
}

// distinct refuses a file named twice: its rows would count twice, or it would be replaced.
func distinct(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash] // a training command follows
	}
	named := slices.Clone(args)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			named = append(named, list.GetSlice()...)
		} else if !slices.Contains([]string{"job", "beside", "title"}, f.Name) { // text, or whose own error says more
			named = append(named, f.Value.String())
		}
	})
	var files []fs.FileInfo
	for _, path := range named {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
			return badFile(path, "the same file twice", "each input once, and an output of another name")
		}
		files = append(files, info)
	}
	return nil
}

func (a *app) warn(warnings ...string) {
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, term.Hanging(a.stderr, "warning: "+data.Visible(strings.ReplaceAll(w, "\n", "; "), 4000)))
	}
}

// note prints a line to stderr unless -q was given.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, term.Hanging(a.stderr, fmt.Sprintf(format, args...)))
	}
}

func (a *app) progress() *term.Progress { return term.New(a.stderr, a.quiet) }

// rows loads the measurements of several files, of one job or of all.
func (a *app) rows(how data.Import, job string, files ...string) ([]data.Measurement, error) {
	var ms []data.Measurement
	for _, file := range files {
		if strings.HasSuffix(file, ".json") {
			return nil, badFile(file, "a JSON file", "a CSV of measurements")
		}
		more, warnings, err := data.LoadTable(file, how.Read)
		if err != nil {
			return nil, err
		}
		a.warn(warnings...)
		ms = append(ms, more...)
	}
	if job == "" || len(ms) == 0 {
		return ms, nil
	}
	return one(ms, func(m data.Measurement) string { return m.Job }, "job", job, strings.Join(files, ", "))
}

// one returns the elements with a name, by default those with the only name.
func one[T any](all []T, of func(T) string, what, name, file string) ([]T, error) {
	names, groups := grouped.By(all, of)
	known := strings.Join(names, ", ")
	switch {
	case name == "" && len(names) > 1:
		return nil, badFile(file, what+"s "+known, fmt.Sprintf("one of them: --%s NAME", what))
	case name != "" && groups[name] == nil:
		return nil, badFile(file, fmt.Sprintf("nothing of %s %q", what, name), "one of "+known)
	case name != "":
		return groups[name], nil
	}
	return all, nil
}

func readModel(file string) (*fit.Model, error) {
	if isCSV(file) {
		return nil, badFile(file, "a CSV", "a model.json, which knee fit makes of measurements")
	}
	return fit.ReadModel(file)
}

func (a *app) curves(file string) ([]data.CurvePoint, error) {
	if file == "" {
		return nil, nil
	}
	points, warnings, err := data.LoadTable(file, data.ReadCurve)
	a.warn(warnings...)
	return points, err
}

// badFile is the error of a file, or a flag, that does not hold what a command needs.
func badFile(file, found, want string) error {
	return &data.InputError{Source: data.Source{File: file}, Found: found, Want: want}
}
