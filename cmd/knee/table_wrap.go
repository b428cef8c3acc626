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
	columnGap  = 2 // blanks between columns
	narrowest  = 7 // columns a cell is wrapped to at the least
	emphasised = "\x1b[1m%s\x1b[0m"
)

// remark is the least width of a last column that goes below its row where the
// table is too wide.
const remark = 30

// wrapped writes the table in at most width columns. Empty columns are left out.
// If the rest is too wide, columns with the same value in every row are printed
// once, above; a last column of long text, or with text in few rows, goes below
// its row; then the widest columns are narrowed and their cells wrapped at blanks.
// A table that cannot be narrowed further is written wider.
func (t *table) wrapped(w io.Writer, width int, bold bool) error {
	t = t.filled()
	var b strings.Builder
	if total(t.natural()) > width {
		var same string
		if t, same = t.unrepeated(); same != "" {
			writeLines(&b, "", term.Wrap(same, width))
		}
	}
	var below []string
	if last := len(t.columns) - 1; last > 0 && total(t.natural()) > width && (t.natural()[last] >= remark || t.rare(last)) {
		t, below = t.without(last)
	}
	widths := t.narrowed(width)
	heads := make([][]string, len(t.columns))
	for k, name := range t.columns {
		heads[k] = wrapName(name, widths[k])
	}
	writeCells(&b, heads, widths, bold)
	head := ""
	for i, r := range t.rows {
		if t.heads != nil && t.heads[i] != head {
			head = t.heads[i]
			writeCells(&b, [][]string{term.Wrap(head, width)}, []int{0}, bold)
		}
		writeRow(&b, r, widths)
		if below != nil && below[i] != "" {
			writeLines(&b, "    ", term.Wrap(below[i], width-4))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLines(b *strings.Builder, margin string, lines []string) {
	for _, line := range lines {
		b.WriteString(margin + line + "\n")
	}
}

// unrepeated returns the table without the columns, except the first, that hold
// the same value in every row, and a line with these values. It leaves a table of
// one row as it is.
func (t *table) unrepeated() (*table, string) {
	if len(t.rows) < 2 {
		return t, ""
	}
	var said []string
	out := t
	for k := len(t.columns) - 1; k > 0; k-- {
		first := t.rows[0][k]
		if first != "" && !slices.ContainsFunc(t.rows, func(r []string) bool { return r[k] != first }) {
			out, _ = out.without(k)
			said = append([]string{t.columns[k] + " " + first}, said...)
		}
	}
	if said == nil {
		return t, ""
	}
	return out, "every row: " + strings.Join(said, ", ")
}

// rare reports whether a column is empty in more than half of the rows.
func (t *table) rare(k int) bool {
	n := 0
	for _, r := range t.rows {
		if r[k] != "" {
			n++
		}
	}
	return 2*n < len(t.rows)
}

// filled returns the table without its empty columns.
func (t *table) filled() *table {
	out := t
	for k := len(t.columns) - 1; k > 0; k-- {
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return k < len(r) && r[k] != "" }) && len(t.rows) > 0 {
			out, _ = out.without(k)
		}
	}
	return out
}

// without returns the table without a column, and the cells of that.
func (t *table) without(k int) (*table, []string) {
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), k, k+1) }
	out := &table{columns: cut(t.columns), heads: t.heads}
	var held []string
	for _, r := range t.rows {
		held = append(held, r[k])
		out.rows = append(out.rows, cut(r))
	}
	return out, held
}

// natural returns the width of every column when nothing is wrapped.
func (t *table) natural() []int {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for k, cell := range row {
			widths[k] = max(widths[k], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// narrowed returns the width of every column: as wide as its cells, and then
// the widest made narrower, one by one, until the table fits.
func (t *table) narrowed(width int) []int {
	widths := t.natural()
	least := make([]int, len(t.columns))
	for k, name := range t.columns {
		for _, part := range strings.SplitAfter(name, "_") {
			least[k] = max(least[k], uniseg.StringWidth(part))
		}
	}
	for _, row := range t.rows {
		for k, cell := range row {
			for word := range strings.FieldsSeq(cell) {
				least[k] = max(least[k], min(uniseg.StringWidth(word), width/2))
			}
		}
	}
	for total(widths) > width {
		k := widest(widths, least)
		if k < 0 {
			break
		}
		widths[k]--
	}
	return widths
}

// widest returns the widest column that can still be narrowed, −1 if none can.
func widest(widths, least []int) int {
	most := -1
	for k, n := range widths {
		if n > max(least[k], narrowest) && (most < 0 || n > widths[most]) {
			most = k
		}
	}
	return most
}

func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, n := range widths {
		sum += n
	}
	return sum
}

// writeRow writes one row of the table, its cells wrapped.
func writeRow(b *strings.Builder, cells []string, widths []int) {
	lines := make([][]string, len(cells))
	for k, cell := range cells {
		lines[k] = term.Wrap(cell, widths[k])
	}
	writeCells(b, lines, widths, false)
}

// writeCells writes the cells of a row, each broken into lines.
func writeCells(b *strings.Builder, cells [][]string, widths []int, bold bool) {
	height := 1
	for _, lines := range cells {
		height = max(height, len(lines))
	}
	for i := range height {
		var line strings.Builder
		for k, lines := range cells {
			text := ""
			if i < len(lines) {
				text = lines[i]
			}
			pad := strings.Repeat(" ", max(0, widths[k]-uniseg.StringWidth(text))+columnGap)
			if bold && text != "" {
				text = fmt.Sprintf(emphasised, text)
			}
			line.WriteString(text + pad)
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
