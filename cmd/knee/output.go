package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/term"
	"knee/plots"
)

// format is the value of -o.
type format string

// formatFlag adds -o, with formats of a command's own first.
func formatFlag(cmd *cobra.Command, f *format, own ...string) {
	formats := append(own, "table", "csv", "json", "markdown")
	*f = format(formats[0])
	cmd.Flags().VarP(choice[format]{f, formats, "format"}, "output", "o", "output format: "+strings.Join(formats, ", "))
	completes(cmd, "output", formats)
}

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

// newTable returns a table without rows; columns have commas between them.
func newTable(columns string) table { return table{columns: strings.Split(columns, ",")} }

// add adds a row; numbers are written as [fmt.Sprint] does.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

// addUnder is add for a row under a head.
func (t *table) addUnder(head string, cells ...any) {
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
	switch {
	case f == "markdown":
		return t.markdown(w)
	case term.Is(w):
		return t.wrapped(w, term.Width(w), term.Colourful())
	}
	return t.wrapped(w, math.MaxInt32, false) // one line a row
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

// markdown writes the heads as a column without a name.
func (t *table) markdown(w io.Writer) error {
	var b strings.Builder
	row := func(head string, cells []string) {
		if t.heads != nil {
			b.WriteString("| " + head + " ")
		}
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	row("", t.columns)
	b.WriteString(strings.Repeat("| --- ", len(t.columns)+min(1, len(t.heads))) + "|\n")
	for i, r := range t.rows {
		if t.heads == nil {
			row("", r)
		} else {
			row(t.heads[i], r)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// number writes a figure with few digits.
func number(v float64) string { return plots.Plain(v) }

// figures returns how a format writes figures: in CSV exactly, else as [number]
// does.
func (f format) figures() func(float64) string {
	if f == "csv" {
		return exact
	}
	return number
}

// exact writes a figure with all its digits, for CSV.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// seconds writes a duration as people say it: hours to the minute, days to
// the hour.
func seconds(s float64) string {
	switch {
	case s <= 0 || math.IsNaN(s):
		return "0s"
	case s < 1:
		return number(s*1000) + " ms"
	case s < 60:
		return number(s) + " s"
	case math.IsInf(s, 0) || s > 1e9:
		return "never"
	case s >= 48*3600:
		h := math.Round(s / 3600)
		return fmt.Sprintf("%.0fd%.0fh", math.Floor(h/24), math.Mod(h, 24))
	case s >= 3600:
		return strings.TrimSuffix((time.Duration(math.Round(s/60)) * time.Minute).String(), "0s")
	}
	return time.Duration(math.Round(s) * float64(time.Second)).String()
}

// between writes an estimate with its 90 % interval, a shared unit once: 31.3 ms
// (27–37.7), $0.12 (0.08–0.21). A missing estimate is empty.
func between(e data.Estimate, f func(float64) string) string {
	if e == (data.Estimate{}) {
		return ""
	}
	mean, lo, hi := f(e.Mean), f(e.Lo), f(e.Hi)
	if _, unit, ok := strings.Cut(mean, " "); ok && strings.HasSuffix(lo, " "+unit) && strings.HasSuffix(hi, " "+unit) {
		lo, hi = strings.TrimSuffix(lo, " "+unit), strings.TrimSuffix(hi, " "+unit)
	}
	if strings.HasPrefix(mean, "$") && strings.HasPrefix(lo, "$") && strings.HasPrefix(hi, "$") {
		lo, hi = lo[1:], hi[1:]
	}
	return fmt.Sprintf("%s (%s–%s)", mean, lo, hi)
}

func dollars(v float64) string { return plots.Money(v) }

// percent writes a relative change with its sign, part a share.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) }
func part(share float64) string    { return fmt.Sprintf("%.0f %%", 100*share) }
