package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func newDocs(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "docs",
		Hidden:  true, // for who releases knee
		Short:   "Write the manual: man pages, or one page of Markdown",
		Long:    `docs writes the texts of --help as a manual. The same build writes the same bytes.`,
		Example: "  knee docs man ~/.local/share/man/man1\n  knee docs reference > commands.md",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "reference",
		Short:   "Print all commands and flags as one Markdown page",
		Example: "  knee docs reference > docs/commands.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.stdout, referenceHead+referenceOf(cmd.Root(), map[string]bool{}))
			return err
		},
	}, &cobra.Command{
		Use:     "man DIR",
		Short:   "Write man pages, one for every command",
		Example: "  knee docs man manual",
		RunE: func(cmd *cobra.Command, args []string) error {
			date := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) // the same bytes on any day
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the folder: %w", err)
			}
			cmd.Root().DisableAutoGenTag = true // it holds the date
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Date: &date, Source: "knee", Manual: "knee"}, args[0])
		},
	})
	return cmd
}

const referenceHead = `# Commands

How each command is called, and its flags, [with their defaults]; ` + "`knee COMMAND --help`" + ` has examples and whole lists. A flag that a command above explains is named only. Everywhere, ` + "`-o, --output`" + ` is table, csv, json or markdown, and ` + "`-q, --quiet`" + ` prints no progress.
`

// referenceOf returns the section of a command and of those below it: what it
// is for, how it is called, and its own flags but -o. Flags in seen are named.
func referenceOf(cmd *cobra.Command, seen map[string]bool) string {
	var b strings.Builder
	if cmd.HasParent() {
		call := cmd.CommandPath()
		if cmd.Runnable() && !cmd.HasSubCommands() {
			call = strings.TrimSuffix(cmd.UseLine(), " [flags]")
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", call, strings.TrimSuffix(cmd.Short, "."))
		b.WriteString(referenceOfFlags(cmd, seen))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() && c.Name() != "completion" {
			b.WriteString(referenceOf(c, seen))
		}
	}
	return b.String()
}

// longList finds lists of more than eight names; $1 are the first three.
var longList = regexp.MustCompile(`: ((?:[\w-]+, ){3})(?:[\w-]+, ){5,}[\w-]+`)

// referenceOfFlags lists the flags of a command, those with the same meaning
// in one line, and names those in seen.
func referenceOfFlags(cmd *cobra.Command, seen map[string]bool) string {
	type line struct{ flags, usage string }
	var lines []line
	var named []string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		name, usage := "--"+f.Name, longList.ReplaceAllString(strings.ReplaceAll(f.Usage, "`", ""), ": $1…")
		if f.Hidden || f.Value.Type() == "format" && f.DefValue == "table" || f.Name == "help" {
			return
		}
		if seen[name+usage] {
			named = append(named, "`"+name+"`")
			return
		}
		seen[name+usage] = true
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if d := f.DefValue; d != "" && d != "0" && d != "false" && d != "0s" && d != "[]" {
			usage += " [" + strings.Trim(d, "[]") + "]"
		}
		if i := slices.IndexFunc(lines, func(l line) bool { return l.usage == usage }); i >= 0 {
			lines[i].flags += " " + name
			return
		}
		lines = append(lines, line{name, usage})
	})
	var out strings.Builder
	for i, l := range lines {
		if i == 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "    %-22s %s\n", l.flags, l.usage)
	}
	if len(named) > 0 {
		out.WriteString("\nAs above: " + strings.Join(named, ", ") + ".\n")
	}
	return out.String()
}

type build struct {
	Version  string `json:"version"`            // of the module: a tag, or derived from the revision
	Revision string `json:"revision,omitempty"` // of git
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Modified bool   `json:"modified"`           // the files were not those of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"` // such as linux/amd64
	Module   string `json:"module"`
}

func newVersion(a *app) *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this build, and what it was built from",
		Example: "  knee version\n  knee version -o json",
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if out == "table" {
				_, err := fmt.Fprintf(a.stdout, "knee %s %s %s\n", version(), b.Go, b.Platform)
				return err
			}
			t := newTable("version,revision,time,modified,go,platform,module")
			t.add(b.Version, b.Revision, b.Time, b.Modified, b.Go, b.Platform, b.Module)
			return out.print(a.stdout, b, t)
		},
	}
	formatFlag(cmd, &out)
	return cmd
}

// thisBuild reads the build information of the binary.
func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Module, b.Version = info.Main.Path, cmp.Or(info.Main.Version, b.Version)
	of := map[string]string{}
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = of["vcs.revision"], of["vcs.time"], of["vcs.modified"] == "true"
	return b
}

// version names this build: its version, and the revision where that is known.
func version() string {
	b := thisBuild()
	return strings.TrimSpace(b.Version + " " + b.Revision)
}
