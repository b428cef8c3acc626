package data

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is a CSV file held as text cells, together with where they stood.
// It implements gocsv.CSVReader, so that gocsv maps the cells to structs
// while errors can still name the true line of the file.
type table struct {
	name   string
	header []string
	rows   [][]string
	lines  []int // line of each row, the header being on line 1 as a rule
	next   int   // rows already handed out by Read, header included
}

// ReadAll implements gocsv.CSVReader.
func (t *table) ReadAll() ([][]string, error) {
	return append([][]string{t.header}, t.rows...), nil
}

// Read implements gocsv.CSVReader.
func (t *table) Read() ([]string, error) {
	at := t.next
	t.next++
	switch {
	case at == 0:
		return t.header, nil
	case at > len(t.rows):
		return nil, io.EOF
	}
	return t.rows[at-1], nil
}

// readTable reads a CSV file: a header row, then rows of as many cells.
// A byte order mark, CRLF line ends, blank rows and blanks around cells are
// tolerated, since spreadsheets leave them behind.
func readTable(r io.Reader, name string) (*table, error) {
	b := bufio.NewReader(r)
	if mark, err := b.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = b.Discard(3) // the bytes are buffered, so this cannot fail
	}
	cr := csv.NewReader(b)
	cr.FieldsPerRecord = -1 // checked below, with an error that names the file
	t := &table{name: name}
	for {
		row, err := cr.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		line, _ := cr.FieldPos(0)
		if err := t.add(row, line); err != nil {
			return nil, err
		}
	}
	if t.header == nil {
		return nil, &InputError{Source: Source{File: name}, Found: "an empty file", Want: "a CSV header row with column names"}
	}
	return t, nil
}

// add checks one row and appends it; the first becomes the header.
func (t *table) add(row []string, line int) error {
	blank := true
	for i, cell := range row {
		row[i] = strings.TrimSpace(cell)
		blank = blank && row[i] == ""
		if !utf8.ValidString(cell) {
			return &InputError{Source: Source{t.name, line, t.column(i)}, Found: quote(cell), Want: "text in UTF-8"}
		}
	}
	switch {
	case blank:
		return nil
	case t.header == nil:
		t.header = row
		return t.checkHeader(line)
	case len(row) != len(t.header):
		return &InputError{
			Source: Source{File: t.name, Line: line},
			Found:  fmt.Sprintf("%d cells", len(row)),
			Want:   fmt.Sprintf("%d, one for each column of the header", len(t.header)),
		}
	}
	t.rows = append(t.rows, row)
	t.lines = append(t.lines, line)
	return nil
}

// checkHeader refuses column names that occur twice: which one was meant
// cannot be told. A column without a name, as data frames write their row
// numbers, is left to be reported as unknown.
func (t *table) checkHeader(line int) error {
	if len(t.header) == 1 {
		for _, other := range []string{";", "\t"} {
			if strings.Contains(t.header[0], other) {
				return &InputError{Source: Source{File: t.name, Line: line}, Found: "columns separated by " + strconv.Quote(other),
					Want: "commas between columns, and decimal points in numbers"}
			}
		}
	}
	for i, h := range t.header {
		if h != "" && slices.Contains(t.header[:i], h) {
			return &InputError{Source: Source{t.name, line, h}, Found: "the column twice", Want: "each column once"}
		}
		if !printable(h) {
			return &InputError{Source: Source{File: t.name, Line: line}, Found: quote(h), Want: "a column name on one line"}
		}
	}
	return nil
}

// column returns the name of column i for messages.
func (t *table) column(i int) string {
	if i < len(t.header) && t.header[i] != "" {
		return t.header[i]
	}
	return "column " + strconv.Itoa(i+1)
}

// has reports whether the table has a column of one of the names.
func (t *table) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(t.header, n) })
}

// missing returns the error for a required column that is not there.
func (t *table) missing(column, want string) error {
	return &InputError{
		Source: Source{File: t.name, Line: 1, Column: column},
		Found:  "columns " + strings.Join(t.header, ", "),
		Want:   want,
	}
}

// unknownWarning returns one warning that names the columns which are
// neither known nor accepted, and nil if there are none.
func (t *table) unknownWarning(known []string, accept func(string) bool) []string {
	var unknown []string
	for i, h := range t.header {
		if slices.Contains(known, h) || accept(h) {
			continue
		}
		if h == "" {
			unknown = append(unknown, t.column(i)+" (no name)")
		} else {
			unknown = append(unknown, h+didYouMean(h, known))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: ignored unknown columns: %s", t.name, strings.Join(unknown, ", "))}
}

// csvError adds the file name to an error of package csv.
func csvError(name string, err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return &InputError{
		Source: Source{File: name, Line: pe.Line},
		Found:  fmt.Sprintf("%v at byte %d", pe.Err, pe.Column),
		Want:   "comma-separated values, quoted with \" where a cell holds a comma or a quote",
	}
}

// row converts the cells of one row and keeps the first error, so that the
// conversions can be written one after the other.
type row struct {
	src Source
	err error
}

// fail records what is wrong with a column unless something already is.
func (r *row) fail(column, found, want string) {
	if r.err == nil {
		r.err = &InputError{Source: Source{r.src.File, r.src.Line, column}, Found: found, Want: want}
	}
}

// number reads a finite number for which ok holds; an empty cell is absent
// and gives the value given as such. want describes what ok accepts.
func (r *row) number(column, cell string, absent float64, want string, ok func(float64) bool) float64 {
	if cell == "" {
		return absent
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || !finite(v) || !ok(v) {
		r.fail(column, quote(cell), want+pointNotComma(cell))
		return absent
	}
	return v
}

// pointNotComma says how numbers are written if a comma is all that keeps a
// cell from being one. What it was meant for cannot be told: 1,024 may be a
// little more than one, or a thousand.
func pointNotComma(cell string) string {
	if _, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64); err != nil || !strings.Contains(cell, ",") {
		return ""
	}
	return ", with a decimal point and no other separator"
}

// whole reads a whole number from min to [maxCount]; an empty cell is zero.
// Data frames turn a column of integers with gaps into 4.0, so that is taken.
func (r *row) whole(column, cell string, min int) int {
	if cell == "" {
		return 0
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(v == float64(int64(v)) && v >= float64(min) && v <= maxCount) { // NaN too
		r.fail(column, quote(cell), fmt.Sprintf("a whole number from %d to %d", min, maxCount)+pointNotComma(cell))
		return 0
	}
	return int(v)
}

// text reads text without control characters.
func (r *row) text(column, cell string) string {
	if !singleLine(cell) {
		r.fail(column, quote(cell), wantText)
	}
	return cell
}

// wantText is what [singleLine] accepts.
const wantText = "text on one line, without control characters or blanks around it"

// singleLine reports whether s survives in a cell: blanks around cells are
// dropped when reading, and names with control characters are a mistake.
func singleLine(s string) bool { return printable(s) && strings.TrimSpace(s) == s }

// maxCount bounds counts of workers, servers, nodes and steps of any kind:
// beyond it a file is wrong, and sums and products could overflow.
const maxCount = 1_000_000_000

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }

// printable reports whether s is valid UTF-8 without control characters or
// line breaks.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || c == '\uFEFF'
	})
}

// quote quotes what was found, shortened to what a terminal line holds.
func quote(s string) string {
	const most = 60
	if rs := []rune(s); len(rs) > most {
		return strconv.Quote(string(rs[:most])) + "…"
	}
	return strconv.Quote(s)
}

// formatFloat writes the shortest number that reads back as v; zero, which
// means "not recorded", is an empty cell.
func formatFloat(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
