package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"
)

// Table is a CSV file that is read row by row. Spreadsheet output is accepted: a byte order
// mark, CRLF, blank rows, blanks around cells, semicolons or tabs with a decimal comma, and
// above the header comments (#) and Excel's sep=;. Column names but of knobs are lower case.
type Table struct {
	Header []string

	name   string
	at     map[string]int    // column of a name
	given  map[string]string // cell of all rows in a column that the file lacks
	csv    *csv.Reader
	above  int // lines above the header
	rows   int
	most   int      // rows; a little gzip data can expand to any number
	width  string   // what says how many cells a row has
	unused []string // other names of columns that are there
	comma  bool     // a decimal comma is allowed
	marks  marks    // decimal and thousands marks
}

// NewTable reads the header. Errors are [*InputError]: an empty file, a column twice.
func NewTable(r io.Reader, name string) (*Table, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, err := b.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = b.Discard(3) // the bytes are buffered, so this cannot fail
	}
	t := &Table{name: name, csv: csv.NewReader(b), most: 1_000_000, width: "one for each column of the header", at: map[string]int{}, given: map[string]string{}}
	t.skipComments(b)
	t.csv.Comma = separator(b)
	t.comma = t.csv.Comma != ','
	head, _ := b.Peek(16 << 10) // a shorter text will do
	t.marks = marksOf(head, t.csv.Comma, t.above)
	t.csv.FieldsPerRecord = -1 // checked below, with an error that names the file
	t.csv.ReuseRecord = true
	cells, line, err := t.read()
	if err == io.EOF {
		return nil, t.fail(0, "", "an empty file", "a CSV header row with column names")
	}
	if err != nil {
		return nil, err
	}
	t.Header = slices.Clone(cells)
	for i, h := range t.Header {
		if lower := strings.ToLower(h); !isExtraColumn(lower) && !slices.Contains(t.Header, lower) {
			t.Header[i], h = lower, lower
		}
		if _, twice := t.at[h]; h != "" && twice {
			return nil, t.fail(line, h, "the column twice", "each column once")
		}
		if !printable(h) {
			return nil, t.fail(line, "", quote(h), "a column name on one line")
		}
		if h != "" {
			t.at[h] = i
		}
	}
	return t, nil
}

func (t *Table) skipComments(b *bufio.Reader) {
	for {
		if start, _ := b.Peek(4); !bytes.HasPrefix(start, []byte("#")) && string(start) != "sep=" {
			return
		}
		_, _ = b.ReadString('\n') // the header, or the end of the file, follows
		t.above++
	}
}

// separator is the most common of comma, semicolon and tab in the header.
func separator(b *bufio.Reader) rune {
	head, _ := b.Peek(b.Size()) // a shorter text will do
	first, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	best, most := ',', strings.Count(first, ",")
	for _, c := range ";\t" {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// Rename renames columns: names maps those of the file to those of the reader.
func (t *Table) Rename(names map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, to := name, names[name]
		if _, ok := t.at[from]; !ok {
			from = strings.ToLower(from)
		}
		i, ok := t.at[from]
		if !ok {
			return t.fail(1, name, "columns "+strings.Join(t.Header, ", "), "a column of that name"+didYouMean(from, t.Header))
		}
		if _, taken := t.at[to]; taken && to != from {
			return t.fail(1, from, "a column "+to+" too", "one column that is "+to)
		}
		delete(t.at, from)
		t.at[to], t.Header[i] = i, to
	}
	return nil
}

// Has reports whether the table has a column of one of the names.
func (t *Table) Has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		_, ok := t.at[n]
		_, given := t.given[n]
		return ok || given
	})
}

// Missing returns the error for a missing column.
func (t *Table) Missing(column, want string) error {
	return t.fail(1, column, "columns "+strings.Join(t.Header, ", "), want)
}

// next returns the next row that is not blank, valid until the next call, or [io.EOF].
func (t *Table) next() (*Row, error) {
	cells, line, err := t.read()
	if t.rows++; err == nil && t.rows > t.most {
		err = t.fail(line, "", "more rows", fmt.Sprintf("at most %d in one file", t.most))
	}
	if err != nil {
		return nil, err
	}
	row := &Row{table: t, cells: cells, Line: line}
	if len(cells) != len(t.Header) {
		row.Fail("", fmt.Sprintf("%d cells", len(cells)), fmt.Sprintf("%d, %s", len(t.Header), t.width))
	}
	return row, nil
}

// EachRow calls do for every row of a CSV file with the columns, among others, as
// [Table.Each] does. name is the file in errors.
func EachRow(r io.Reader, name string, columns []string, do func(*Row) error) error {
	t, err := NewTable(r, name)
	if err != nil {
		return err
	}
	for _, want := range columns {
		if !t.Has(want) {
			return t.Missing(want, "a column "+want)
		}
	}
	return t.Each(do)
}

// maxNamed is how many wrong rows of a file an error names; it counts the rest.
const maxNamed = 5

// Each calls do for every remaining row. An error of do ends the reading; of rows with wrong
// cells, the error joins an [*InputError] for each of the first maxNamed.
func (t *Table) Each(do func(*Row) error) error { return t.each(t.next, do) }

func (t *Table) each(next func() (*Row, error), do func(*Row) error) error {
	var wrong []error
	more := 0
	for {
		row, err := next()
		if err == nil && row.err == nil {
			err = do(row)
		}
		switch {
		case err == nil && row.err == nil:
		case row == nil || row.err == nil: // end of the file, or a read error
			if more > 0 {
				wrong = append(wrong, fmt.Errorf("%s: %d rows are wrong; the first %d are above", t.name, maxNamed+more, maxNamed))
			}
			if err != io.EOF {
				wrong = append(wrong, err)
			}
			return errors.Join(wrong...)
		case len(wrong) == maxNamed:
			more++
		default:
			wrong = append(wrong, row.err)
		}
	}
}

// read returns the cells of the next row that is not blank, and its line.
func (t *Table) read() ([]string, int, error) {
	for {
		cells, err := t.csv.Read()
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, 0, t.fail(t.above+bad.Line, "", fmt.Sprintf("%v at byte %d", bad.Err, bad.Column),
				`comma-separated values, quoted with " where a cell holds a comma or a quote`)
		} else if err != nil && err != io.EOF {
			err = ReadError(t.name, err)
		}
		if err != nil {
			return nil, 0, err
		}
		line, _ := t.csv.FieldPos(0)
		line += t.above
		blank := true
		for i, cell := range cells {
			if !utf8.ValidString(cell) {
				return nil, 0, t.fail(line, t.column(i), quote(cell), "text in UTF-8")
			}
			cells[i] = strings.TrimSpace(cell)
			blank = blank && cells[i] == ""
		}
		if !blank {
			return cells, line, nil
		}
	}
}

func (t *Table) column(i int) string {
	if i < len(t.Header) && t.Header[i] != "" {
		return t.Header[i]
	}
	return "column " + strconv.Itoa(i+1)
}

func (t *Table) fail(line int, column, found, want string) error {
	return &InputError{Source: Source{t.name, line, column}, Found: found, Want: want}
}

// Unknown returns one warning of columns neither known nor accepted, nil if there are none.
func (t *Table) Unknown(known []string, accept ...func(string) bool) []string {
	known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(t.unused, name) })
	var unknown []string
	for i, h := range t.Header {
		if slices.Contains(known, h) || slices.ContainsFunc(accept, func(ok func(string) bool) bool { return ok(h) }) {
			continue
		}
		if h == "" {
			unknown = append(unknown, t.column(i)+" (no name)")
		} else {
			unknown = append(unknown, shorten(h)+didYouMean(h, known))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	const most = 20
	if n := len(unknown) - most; n > 0 {
		unknown = append(unknown[:most], fmt.Sprintf("and %d more", n))
	}
	return []string{fmt.Sprintf("%s: ignored unknown columns: %s", t.name, strings.Join(unknown, ", "))}
}

// Row is a row of a [Table]. It keeps the first error of its conversions.
type Row struct {
	Line int // 1-based first line of the row in the file

	table *Table
	cells []string
	err   error
}

// Err returns the first error of the conversions, an [*InputError].
func (r *Row) Err() error { return r.err }

// Source returns the place of the row.
func (r *Row) Source() Source { return Source{File: r.table.name, Line: r.Line} }

// Cell returns the trimmed text of a cell, "" if there is no such column.
func (r *Row) Cell(column string) string {
	if i, ok := r.table.at[column]; ok {
		return r.cells[i]
	}
	return r.table.given[column]
}

// Cells returns the trimmed text of all cells.
func (r *Row) Cells() []string { return slices.Clone(r.cells) }

// Fail records an error of a column unless the row has one already.
func (r *Row) Fail(column, found, want string) {
	if r.err == nil {
		r.err = r.table.fail(r.Line, column, found, want)
	}
}

// Bad records that a cell does not hold what is wanted.
func (r *Row) Bad(column, want string) { r.Fail(column, quote(r.Cell(column)), want) }

// Number reads a number within bounds; an empty cell gives absent.
func (r *Row) Number(column string, absent float64, b Bounds) float64 {
	cell := r.Cell(column)
	if cell == "" {
		return absent
	}
	v, ok := b.Parse(r.plainNumber(column, cell))
	if !ok {
		r.Bad(column, b.Instead(cell)+r.table.pointNotComma(cell))
		return absent
	}
	return v
}

// Required reads a number within bounds; an empty cell is an error.
func (r *Row) Required(column string, b Bounds) float64 {
	if r.Cell(column) == "" {
		r.Fail(column, "nothing", b.String())
	}
	return r.Number(column, 0, b)
}

// Whole reads a whole number ≥ min, also as 4.0; an empty cell is zero.
func (r *Row) Whole(column string, min int) int { return int(r.Number(column, 0, Count(min))) }

// Text reads text without control characters.
func (r *Row) Text(column string) string {
	cell := r.Cell(column)
	if !singleLine(cell) {
		r.Bad(column, wantText)
	}
	return unique.Make(cell).Value() // a copy for all rows, which does not keep the memory of this one
}

// pointNotComma is advice for a cell that only a comma keeps from being a number.
func (t *Table) pointNotComma(cell string) string {
	if _, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64); err != nil || !strings.Contains(cell, ",") || t.comma {
		return ""
	}
	return ", with a decimal point and no other separator"
}

// wantText is what [singleLine] accepts.
const wantText = "text on one line, without control characters or blanks around it"

// singleLine reports that s has no control characters, and no blanks around it.
func singleLine(s string) bool { return printable(s) && strings.TrimSpace(s) == s }

// printable reports valid UTF-8 without control characters or line breaks.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || c == '\uFEFF'
	})
}

// quote quotes s, shortened to a terminal line.
func quote(s string) string {
	if short := shorten(s); short != s {
		return strconv.Quote(strings.TrimSuffix(short, "…")) + "…"
	}
	return strconv.Quote(s)
}

func shorten(s string) string {
	const most = 60
	if len(s) > most {
		if rs := []rune(s[:min(len(s), 4*most+4)]); len(rs) > most {
			return string(rs[:most]) + "…"
		}
	}
	return s
}

// formatFloat writes the shortest number that reads back as v; 0, not recorded, is empty.
func formatFloat(v float64) string {
	if v == 0 {
		return ""
	}
	return numberText(v)
}

// numberText writes the shortest number that reads back as v.
func numberText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
