package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the page of all commands anew")

// The page of all commands is what --help says today.
func TestCommandReference(t *testing.T) {
	got := referenceHead + referenceOf(newRoot(&app{stdout: io.Discard, stderr: io.Discard}), map[string]bool{})
	const page = "../../docs/commands.md"
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the commands say now; run make golden", page)
	}
}

// Every command has its section of help.txt, in the order of their names, and every section
// is of a command.
func TestHelpTexts(t *testing.T) {
	var want []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		want = append(want, cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.Name() != "help" && c.Name() != "completion" {
				walk(c)
			}
		}
	}
	root := newRoot(&app{stdout: io.Discard, stderr: io.Discard})
	walk(root)
	slices.Sort(want)
	var got []string
	for _, section := range regexp.MustCompile(`(?m)^# (.*)$`).FindAllStringSubmatch(helpText, -1) {
		got = append(got, section[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("help.txt has sections %q, the commands are %q", got, want)
	}
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
