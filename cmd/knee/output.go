package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
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

// table is a result in rows of cells. The columns have the names of the files.
type table struct {
	columns []string
	rows    [][]any
	heads   []string // of the rows: printed once above the rows that share it, on a terminal; may be nil

	// people is shown instead in any format but CSV: fewer columns, rounded more.
	// May be nil.
	people *table
}

// newTable returns a table without rows; columns have commas between them. The table
// for people, if there is one, has columns of its own.
func newTable(columns string, people ...string) *table {
	t := &table{columns: strings.Split(columns, ",")}
	for _, columns := range people {
		t.people = newTable(columns)
	}
	return t
}

// add adds a row. Figures, of type float64, are written exactly in CSV and as [number]
// does for people; nil is empty.
func (t *table) add(cells ...any) { t.rows = append(t.rows, cells) }

// addUnder is add for a row under a head.
func (t *table) addUnder(head string, cells ...any) {
	t.heads = append(t.heads, head)
	t.add(cells...)
}

// addColumn adds a cell to every row, unless all of them are nil.
func (t *table) addColumn(name string, cell func(row int) any) {
	cells := make([]any, len(t.rows))
	for i := range cells {
		cells[i] = cell(i)
	}
	if slices.ContainsFunc(cells, func(c any) bool { return c != nil }) {
		t.columns = append(t.columns, name)
		for i, c := range cells {
			t.rows[i] = append(t.rows[i], c)
		}
	}
}

// orEmpty is the cell of a figure, empty for one that does not exist, such as the
// time to a goal without a goal.
func orEmpty(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}

// print writes a result in the wanted format: v for JSON, t for the others.
func (f format) print(w io.Writer, v any, t *table) error {
	figure := exact
	if f != "json" && f != "csv" {
		t, figure = cmp.Or(t.people, t), number
	}
	s, err := t.written(figure)
	if err != nil {
		return err
	}
	switch {
	case f == "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		return nil
	case f == "csv":
		c := csv.NewWriter(w)
		if err := c.WriteAll(append([][]string{s.columns}, s.rows...)); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		return nil
	case f == "markdown":
		return s.markdown(w)
	case term.Is(w):
		return s.wrapped(w, term.Width(w), term.Colourful())
	}
	return s.wrapped(w, math.MaxInt32, false) // one line a row
}

// sheet is a table as text.
type sheet struct {
	columns []string
	rows    [][]string
	heads   []string
}

// written escapes what is not printable, and refuses NaN and infinity, which come
// from inputs beyond the range of floating point.
func (t *table) written(figure func(float64) string) (*sheet, error) {
	s := &sheet{columns: t.columns, heads: t.heads}
	for _, cells := range t.rows {
		row := make([]string, len(cells))
		for i, c := range cells {
			switch c := c.(type) {
			case nil:
			case float64:
				row[i] = figure(c + 0) // not −0
			default:
				text := fmt.Sprint(c)
				row[i] = data.Visible(text, len(text))
			}
			switch strings.TrimLeft(row[i], "+-$") {
			case "Inf", "NaN":
				return nil, &data.InputError{Source: data.Source{Column: t.columns[i]}, Found: row[i] + " in the row " + strings.Join(row[:min(3, len(row))], ", "),
					Want: "inputs whose results are finite numbers"}
			}
		}
		s.rows = append(s.rows, row)
	}
	return s, nil
}

// markdown writes the heads as a column without a name.
func (t *sheet) markdown(w io.Writer) error {
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

// exact writes a figure with all its digits, for CSV.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// The ways to write a time, an amount of money, and an estimate with its interval.
func seconds(s float64) string                               { return plots.Duration(s) }
func dollars(v float64) string                               { return plots.Money(v) }
func between(e data.Estimate, f func(float64) string) string { return plots.Interval(e, f) }

// percent writes a relative change with its sign, part a share.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) }
func part(share float64) string    { return fmt.Sprintf("%.0f %%", 100*share) }

// The layout of tables on a terminal.
const (
	columnGap  = 2  // blanks between columns
	narrowest  = 7  // columns a cell is wrapped to at the least
	remark     = 30 // least width of a last column that goes below its row where the table is too wide
	emphasised = "\x1b[1m%s\x1b[0m"
)

// wrapped writes the table in at most width columns. Empty columns are left out.
// If the rest is too wide, columns with the same value in every row are printed
// once, above; a last column of long text, or with text in few rows, goes below
// its row; then the widest columns are narrowed and their cells wrapped at blanks.
// A table that cannot be narrowed further is written wider.
func (t *sheet) wrapped(w io.Writer, width int, bold bool) error {
	var b strings.Builder
	lines := func(margin, text string) {
		for _, line := range term.Wrap(text, width-len(margin)) {
			b.WriteString(margin + line + "\n")
		}
	}
	t, _ = t.withoutUniform(func(cell string) bool { return cell == "" && len(t.rows) > 0 })
	if len(t.rows) > 1 && total(t.natural()) > width {
		var same []string
		if t, same = t.withoutUniform(func(string) bool { return true }); same != nil {
			lines("", "every row: "+strings.Join(same, ", "))
		}
	}
	var below []string
	if last := len(t.columns) - 1; last > 0 && total(t.natural()) > width && (t.natural()[last] >= remark || t.rare(last)) {
		t, below = t.without(last)
	}
	widths := t.narrowed(width)
	writeCells(&b, t.columns, widths, bold, wrapName)
	head := ""
	for i, r := range t.rows {
		if t.heads != nil && t.heads[i] != head {
			head = t.heads[i]
			writeCells(&b, []string{head}, []int{width}, bold, term.Wrap)
		}
		writeCells(&b, r, widths, false, term.Wrap)
		if below != nil && below[i] != "" {
			lines("    ", below[i])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withoutUniform returns the table without the columns, except the first, that hold
// one value, for which drop reports true, in every row, and their names and values.
func (t *sheet) withoutUniform(drop func(cell string) bool) (*sheet, []string) {
	var dropped []string
	for k := len(t.columns) - 1; k > 0; k-- {
		first := ""
		if len(t.rows) > 0 {
			first = t.rows[0][k]
		}
		if drop(first) && !slices.ContainsFunc(t.rows, func(r []string) bool { return r[k] != first }) {
			dropped = slices.Insert(dropped, 0, t.columns[k]+" "+first)
			t, _ = t.without(k)
		}
	}
	return t, dropped
}

// rare reports whether a column is empty in more than half of the rows.
func (t *sheet) rare(k int) bool {
	n := 0
	for _, r := range t.rows {
		if r[k] != "" {
			n++
		}
	}
	return 2*n < len(t.rows)
}

// without returns the table without a column, and the cells of that.
func (t *sheet) without(k int) (out *sheet, held []string) {
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), k, k+1) }
	out = &sheet{columns: cut(t.columns), heads: t.heads}
	for _, r := range t.rows {
		held = append(held, r[k])
		out.rows = append(out.rows, cut(r))
	}
	return out, held
}

// natural returns the width of every column when nothing is wrapped.
func (t *sheet) natural() []int {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for k, cell := range row {
			widths[k] = max(widths[k], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// narrowed returns the width of every column: as wide as its cells, and then
// the widest made narrower, one by one, until the table fits or no column can be
// narrowed without breaking words.
func (t *sheet) narrowed(width int) []int {
	widths, least := t.natural(), make([]int, len(t.columns))
	for k, name := range t.columns {
		least[k] = narrowest
		for _, part := range strings.SplitAfter(name, "_") {
			least[k] = max(least[k], uniseg.StringWidth(part))
		}
		for _, row := range t.rows {
			for word := range strings.FieldsSeq(row[k]) {
				least[k] = max(least[k], min(uniseg.StringWidth(word), width/2))
			}
		}
	}
	for total(widths) > width {
		widest := -1
		for k, n := range widths {
			if n > least[k] && (widest < 0 || n > widths[widest]) {
				widest = k
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, n := range widths {
		sum += n
	}
	return sum
}

// writeCells writes the cells of a row, broken into lines.
func writeCells(b *strings.Builder, cells []string, widths []int, bold bool, wrap func(string, int) []string) {
	lines, height := make([][]string, len(cells)), 1
	for k, cell := range cells {
		lines[k] = wrap(cell, widths[k])
		height = max(height, len(lines[k]))
	}
	for i := range height {
		var line strings.Builder
		for k := range cells {
			text := ""
			if i < len(lines[k]) {
				text = lines[k][i]
			}
			pad := max(0, widths[k]-uniseg.StringWidth(text)) + columnGap
			if k == len(cells)-1 {
				pad = 0
			}
			if bold && text != "" {
				text = fmt.Sprintf(emphasised, text)
			}
			line.WriteString(text + strings.Repeat(" ", pad))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrapName breaks the name of a column behind underscores into lines of at
// most width columns, where it has underscores there.
func wrapName(name string, width int) []string {
	lines := []string{""}
	for _, part := range strings.SplitAfter(name, "_") {
		last := &lines[len(lines)-1]
		if *last != "" && uniseg.StringWidth(*last)+uniseg.StringWidth(part) > width {
			lines = append(lines, part)
			continue
		}
		*last += part
	}
	return lines
}
