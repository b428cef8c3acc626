package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"knee/internal/term"
)

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
func (t table) wrapped(w io.Writer, width int, bold bool) error {
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
func (t table) withoutUniform(drop func(cell string) bool) (table, []string) {
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
func (t table) rare(k int) bool {
	n := 0
	for _, r := range t.rows {
		if r[k] != "" {
			n++
		}
	}
	return 2*n < len(t.rows)
}

// without returns the table without a column, and the cells of that.
func (t table) without(k int) (out table, held []string) {
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), k, k+1) }
	out = table{columns: cut(t.columns), heads: t.heads}
	for _, r := range t.rows {
		held = append(held, r[k])
		out.rows = append(out.rows, cut(r))
	}
	return out, held
}

// natural returns the width of every column when nothing is wrapped.
func (t table) natural() []int {
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
func (t table) narrowed(width int) []int {
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
