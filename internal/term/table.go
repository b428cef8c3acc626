package term

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Table is rows of text under named columns.
type Table struct {
	Columns []string
	Rows    [][]string
	Heads   []string // of the rows: printed once above the rows that share it, on a terminal; may be nil
}

// Write writes the table as wide as a terminal, else with one line a row.
func (t *Table) Write(w io.Writer) error {
	if isTerminal(w) {
		return t.wrapped(w, widthOf(w), os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb") // https://no-color.org
	}
	return t.wrapped(w, math.MaxInt32, false)
}

// The layout of tables on a terminal.
const (
	columnGap  = 2  // blanks between columns
	narrowest  = 7  // columns a cell is wrapped to at the least
	remark     = 30 // least width of a last column that goes below its row where the table is too wide
	emphasised = "\x1b[1m%s\x1b[0m"
)

// wrapped writes the table in at most width columns, if it can be narrowed so far. Empty
// columns are left out. If the rest is too wide, columns with one value are printed once,
// above; a last column of long or rare text goes below its row; the widest are wrapped.
func (t *Table) wrapped(w io.Writer, width int, bold bool) error {
	var b strings.Builder
	lines := func(margin, text string) {
		for _, line := range wrap(text, width-len(margin)) {
			b.WriteString(margin + line + "\n")
		}
	}
	t, _ = t.withoutUniform(func(cell string) bool { return cell == "" && len(t.Rows) > 0 })
	if len(t.Rows) > 1 && total(t.natural()) > width {
		var same []string
		if t, same = t.withoutUniform(func(string) bool { return true }); same != nil {
			lines("", "every row: "+strings.Join(same, ", "))
		}
	}
	var below []string
	if last := len(t.Columns) - 1; last > 0 && total(t.natural()) > width && (t.natural()[last] >= remark || t.rare(last)) {
		t, below = t.without(last)
	}
	widths := t.narrowed(width)
	writeCells(&b, t.Columns, widths, bold, wrapName)
	head := ""
	for i, r := range t.Rows {
		if t.Heads != nil && t.Heads[i] != head {
			head = t.Heads[i]
			writeCells(&b, []string{head}, []int{width}, bold, wrap)
		}
		writeCells(&b, r, widths, false, wrap)
		if below != nil && below[i] != "" {
			lines("    ", below[i])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withoutUniform drops columns, except the first, with one value that drop accepts.
func (t *Table) withoutUniform(drop func(cell string) bool) (*Table, []string) {
	var dropped []string
	for k := len(t.Columns) - 1; k > 0; k-- {
		first := ""
		if len(t.Rows) > 0 {
			first = t.Rows[0][k]
		}
		if drop(first) && !slices.ContainsFunc(t.Rows, func(r []string) bool { return r[k] != first }) {
			dropped = slices.Insert(dropped, 0, t.Columns[k]+" "+first)
			t, _ = t.without(k)
		}
	}
	return t, dropped
}

func (t *Table) rare(k int) bool {
	n := 0
	for _, r := range t.Rows {
		if r[k] != "" {
			n++
		}
	}
	return 2*n < len(t.Rows)
}

func (t *Table) without(k int) (out *Table, held []string) {
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), k, k+1) }
	out = &Table{Columns: cut(t.Columns), Heads: t.Heads}
	for _, r := range t.Rows {
		held = append(held, r[k])
		out.Rows = append(out.Rows, cut(r))
	}
	return out, held
}

func (t *Table) natural() []int {
	widths := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for k, cell := range row {
			widths[k] = max(widths[k], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// narrowed returns widths: that of the cells, the widest made narrower one by one until the
// table fits or words would be broken.
func (t *Table) narrowed(width int) []int {
	widths, least := t.natural(), make([]int, len(t.Columns))
	for k, name := range t.Columns {
		least[k] = narrowest
		for _, part := range strings.SplitAfter(name, "_") {
			least[k] = max(least[k], uniseg.StringWidth(part))
		}
		for _, row := range t.Rows {
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

// wrapName breaks a name behind underscores into lines of at most width columns.
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

// Markdown writes the heads as a column without a name.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	heads := append([]string{""}, t.Heads...)
	for i, row := range append([][]string{t.Columns}, t.Rows...) {
		if t.Heads != nil {
			row = append([]string{heads[i]}, row...)
		}
		for _, cell := range row {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
