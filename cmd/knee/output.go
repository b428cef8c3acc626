package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/term"
)

// format is the value of -o.
type format string

var formats = []string{"table", "csv", "json", "markdown"}

func formatFlag(cmd *cobra.Command, f *format) {
	*f = "table"
	cmd.Flags().VarP(f, "output", "o", "output format: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

func (f *format) String() string { return string(*f) }

func (f *format) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("want %s", strings.Join(formats, ", "))
	}
	*f = format(s)
	return nil
}

func (f *format) Type() string { return "format" }

// table is a result as rows of text. The first header row has the names of
// the columns as the files spell them.
type table struct {
	columns []string
	rows    [][]string
	heads   []string // of the rows: printed once above the rows that share it, on a terminal; may be nil

	// people is shown instead in any format but CSV: fewer columns, rounded more.
	// May be nil.
	people *table
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// addUnder is add for a row under a head.
func (t *table) addUnder(head string, cells ...string) {
	t.heads = append(t.heads, head)
	t.add(cells...)
}

// print writes a result in the wanted format: v for JSON, t for the others.
func (f format) print(w io.Writer, v any, t table) error {
	if err := t.clean(); err != nil {
		return err
	}
	switch f {
	case "json":
		return printJSON(w, v)
	case "csv":
		c := csv.NewWriter(w)
		if err := c.WriteAll(append([][]string{t.columns}, t.rows...)); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		return nil
	}
	if t.people != nil {
		t = *t.people
	}
	if f == "markdown" {
		return t.markdown(w)
	}
	return t.text(w)
}

// clean escapes what is not printable, and refuses NaN and infinity, which come
// from inputs beyond the range of floating point.
func (t *table) clean() error {
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = data.Visible(cell, len(cell))
			switch strings.TrimLeft(cell, "+-$") {
			case "Inf", "NaN":
				return &data.InputError{Source: data.Source{Column: t.columns[i]}, Found: cell + " in the row " + strings.Join(row[:min(3, len(row))], ", "),
					Want: "inputs whose results are finite numbers"}
			}
		}
	}
	if t.people != nil {
		return t.people.clean()
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func (t *table) markdown(w io.Writer) error {
	var b strings.Builder
	row := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(escaped, " | ") + " |\n")
	}
	if t.heads != nil {
		t.columns = append([]string{""}, t.columns...)
	}
	row(t.columns)
	b.WriteString(strings.Repeat("| --- ", len(t.columns)) + "|\n")
	for i, r := range t.rows {
		if t.heads != nil {
			r = append([]string{t.heads[i]}, r...)
		}
		row(r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes the table: within the width of a terminal, elsewhere one line a row.
func (t *table) text(w io.Writer) error {
	if term.Is(w) {
		return t.wrapped(w, term.Width(w), term.Colourful())
	}
	return t.wrapped(w, math.MaxInt32, false)
}
