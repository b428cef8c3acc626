package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"knee/data"
)

func newDocs(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Write the manual: man pages, or Markdown",
		Long: `docs writes a page for every command, made from the same texts as --help.
Nothing in it depends on when or where it is made.`,
		Example: `  knee docs man ~/.local/share/man/man1
  knee docs markdown reference`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newDocsFormat(a, "man", "Write man pages, one for every command", manPage),
		newDocsFormat(a, "markdown", "Write Markdown, one file for every command", markdownPage),
		newDocsReference(a))
	return cmd
}

func newDocsReference(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "reference",
		Short:   "Print all commands and flags as one Markdown page",
		Example: "  knee docs reference > docs/commands.md",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(a.stdout, "# Commands\n\nWhat `knee COMMAND --help` prints, on one page.\n"+referenceOf(cmd.Root()))
			return err
		},
	}
}

// referenceOf returns the section of a command and of those below it: what it
// is for, how it is called, examples, and its own flags.
func referenceOf(cmd *cobra.Command) string {
	var b strings.Builder
	if cmd.HasParent() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."))
		cmd.InitDefaultHelpFlag()
		if cmd.Runnable() {
			fmt.Fprintf(&b, "\n    %s\n", cmd.UseLine())
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n%s\n", indented(cmd.Example))
		}
		if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\nFlags:\n\n%s\n", indented(strings.TrimRight(flags.FlagUsages(), "\n")))
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() && c.Name() != "completion" {
			b.WriteString(referenceOf(c))
		}
	}
	return b.String()
}

// indented makes a text a code block of Markdown.
func indented(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "    " + strings.TrimPrefix(l, "  ")
		}
	}
	return strings.Join(lines, "\n")
}

// pageOf writes the page of one command and names its file.
type pageOf func(*cobra.Command, io.Writer) (name string, err error)

func newDocsFormat(a *app, name, short string, write pageOf) *cobra.Command {
	return &cobra.Command{
		Use:     name + " DIR",
		Short:   short,
		Example: "  knee docs " + name + " manual",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the folder: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // it holds the date
			n, err := writePages(root, args[0], write)
			a.note("wrote %d pages to %s", n, args[0])
			return err
		},
	}
}

// writePages writes the page of a command and of those below it.
func writePages(cmd *cobra.Command, dir string, write pageOf) (int, error) {
	var page bytes.Buffer
	name, err := write(cmd, &page)
	if err != nil {
		return 0, fmt.Errorf("the page of %s: %w", cmd.CommandPath(), err)
	}
	err = data.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { _, err := w.Write(page.Bytes()); return err })
	if err != nil {
		return 0, err
	}
	n := 1
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		below, err := writePages(c, dir, write)
		n += below
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// manDate stands in the head of every man page.
var manDate = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func manPage(cmd *cobra.Command, w io.Writer) (string, error) {
	date := manDate
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	return name + ".1", doc.GenMan(cmd, &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &date, Source: "knee", Manual: "knee"}, w)
}

func markdownPage(cmd *cobra.Command, w io.Writer) (string, error) {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md", doc.GenMarkdown(cmd, w)
}
