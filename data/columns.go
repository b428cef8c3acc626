package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gocarina/gocsv"
)

// A row of a CSV file with fixed columns is a struct, which gocsv reads and writes. Tags say
// what its fields are:
//
//	csv:"NAME,…"     the column, other names that it has in files, and default=VALUE
//	is, of, min, max the numbers that it takes, as in YAML; max is of whole ones
//	required:"true"  a file has the column, and a number in every row
//	by:"hand"        gocsv only writes it: what is read depends on other columns
//	keep:"TEXT"      [WriteTable] writes the column even if no row has a value, and TEXT
//	                 where there is none
type column struct {
	names    []string
	index    []int
	bounds   *Bounds // nil for text
	required bool
	absent   bool // it has a value where the file lacks the column
	byHand   bool
	keep     bool
	empty    string
}

// columnsByType caches columnsOf: a journal checks every measurement as a table of one row.
var columnsByType sync.Map

func columnsOf[T any]() (all []column) {
	of := reflect.TypeFor[T]()
	if known, ok := columnsByType.Load(of); ok {
		return known.([]column)
	}
	for _, f := range reflect.VisibleFields(of) {
		tag := f.Tag.Get("csv")
		if tag == "" || tag == "-" {
			continue
		}
		c := column{index: f.Index, required: f.Tag.Get("required") != "", byHand: f.Tag.Get("by") != ""}
		c.empty, c.keep = f.Tag.Lookup("keep")
		tag, _, c.absent = strings.Cut(tag, ",default=")
		c.names = strings.Split(tag, ",")
		switch f.Type.Kind() {
		case reflect.Int:
			b := Count(yamlField{tag: f.Tag}.least())
			if most, err := strconv.ParseFloat(f.Tag.Get("max"), 64); err == nil {
				b.Max = most
			}
			c.bounds = &b
		case reflect.Float64:
			b := yamlField{tag: f.Tag}.bounds()
			c.bounds = &b
		}
		all = append(all, c)
	}
	columnsByType.Store(of, all)
	return all
}

// ColumnNames are the names of the columns of a struct, see [EachOf].
func ColumnNames[T any]() (names []string) {
	for _, c := range columnsOf[T]() {
		names = append(names, c.names...)
	}
	return names
}

// text is a cell for gocsv: a number within its bounds, without unit and thousands marks.
func (c column) text(r *Row) string {
	name := c.names[0]
	if c.bounds == nil {
		return r.Text(name)
	}
	cell := r.Cell(name)
	if cell == "" && c.required {
		r.Fail(name, "nothing", c.bounds.String())
	}
	if cell == "" {
		return ""
	}
	v := r.Number(name, 0, *c.bounds)
	if r.err != nil {
		return ""
	}
	if !c.bounds.Whole && !r.table.comma && r.table.marks.group == "" && strings.Trim(cell, "0123456789.e+-") == "" {
		return cell
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// batch is rows of a table on their way through gocsv into structs.
type batch[T any] struct {
	*Table
	columns []column
	texts   [][]string // the header, then a row each
	rows    []Row
	values  []T
	n, at   int   // rows; the current one
	end     error // of the rows of the table
}

// batchSize outweighs what gocsv does once for a header. The first batch is smaller, as many
// files are.
const batchSize = 256

// GetCSVRows implements [gocsv.Decoder].
func (b *batch[T]) GetCSVRows() ([][]string, error) { return b.texts[:1+b.n], nil }

// EachOf is [Table.Each] with every row as a struct, whose tags name its columns.
func EachOf[T any](t *Table, do func(*Row, *T) error) error {
	b := &batch[T]{Table: t, texts: [][]string{nil}, at: -1}
	for _, c := range columnsOf[T]() {
		at := slices.IndexFunc(c.names, func(name string) bool { return t.Has(name) })
		if at < 0 && c.required {
			return t.Missing(c.names[0], "a column "+strings.Join(c.names, " or "))
		}
		if at >= 0 {
			t.unused = append(t.unused, c.names[at+1:]...)
		}
		if at > 0 { // the first name is that in code
			t.at[c.names[0]] = t.at[c.names[at]]
		}
		if !c.byHand && (at >= 0 || c.absent) {
			b.texts[0] = append(b.texts[0], c.names[0])
			c.names = c.names[max(at, 0):]
			b.columns = append(b.columns, c)
		}
	}
	return t.each(b.next, func(row *Row) error { return do(row, &b.values[b.at]) })
}

func (b *batch[T]) next() (*Row, error) {
	if b.at++; b.at < b.n {
		return &b.rows[b.at], nil
	}
	if b.end != nil {
		return nil, b.end
	}
	size := min(max(4, 8*len(b.rows)), batchSize)
	if more := size - len(b.rows); more > 0 {
		b.rows, b.values, b.texts = append(b.rows, make([]Row, more)...), make([]T, size), append(b.texts, make([][]string, more)...)
	}
	for b.n, b.at = 0, -1; b.n < size; b.n++ {
		row, err := b.Table.next()
		if b.end = err; err != nil {
			break
		}
		texts := b.texts[1+b.n][:0]
		for i := 0; i < len(b.columns) && row.err == nil; i++ {
			texts = append(texts, b.columns[i].text(row))
		}
		if row.err != nil {
			texts = nil // gocsv is not to fail; nobody gets the struct
		}
		row.cells = append(b.rows[b.n].cells[:0], row.cells...) // the reader's become those of the next row
		b.texts[1+b.n], b.rows[b.n] = texts, *row
	}
	out := b.values[:b.n]
	if err := gocsv.UnmarshalDecoder(b, &out); err != nil {
		return nil, ReadError(b.name, err)
	}
	return b.next()
}

// EachLine is [EachOf] for a file with all columns of T in order, without a header or with
// their names as one; what names the format in errors.
func EachLine[T any](r io.Reader, name, what string, separator rune, do func(*Row, *T) error) error {
	t := &Table{Header: ColumnNames[T](), name: name, most: math.MaxInt, width: "the columns of " + what, at: map[string]int{}}
	for i, h := range t.Header {
		t.at[h] = i
	}
	b := bufio.NewReader(r)
	names := strings.Join(t.Header, string(separator))
	if head, _ := b.Peek(len(names)); string(head) == names {
		_, _ = b.ReadString('\n')
		t.above = 1
	}
	t.csv = csv.NewReader(b)
	t.csv.Comma, t.csv.FieldsPerRecord, t.csv.LazyQuotes, t.csv.ReuseRecord = separator, -1, true, true
	return EachOf(t, do)
}

// recorded reports whether a field has a value; where 0 is one, NaN is none.
func (c column) recorded(row reflect.Value) bool {
	field := row.FieldByIndex(c.index)
	if c.absent {
		return !math.IsNaN(field.Float())
	}
	return !field.IsZero()
}

// sparse is a [gocsv.CSVWriter] that leaves out columns and cells without a value.
type sparse struct {
	*csv.Writer
	columns []column
	written []bool // which of the columns
	rows    reflect.Value
	at      int                    // the row; −1 is the header
	more    []func(row int) string // further columns
}

func (s *sparse) Write(cells []string) error {
	var out []string
	for i, c := range s.columns {
		if s.at >= 0 && !c.recorded(s.rows.Index(s.at)) {
			cells[i] = c.empty
		}
		if s.written[i] {
			out = append(out, cells[i])
		}
	}
	for _, cell := range s.more {
		out = append(out, cell(s.at))
	}
	s.at++
	return s.Writer.Write(out)
}

// WriteTable writes rows in the columns with a value or the tag keep, all of them if there
// are none, and in more, whose row −1 is the header. What read refuses is an error.
func WriteTable[T, R any](w io.Writer, what string, rows []T, read func(io.Reader, string) ([]R, []string, error), more ...func(row int) string) error {
	var b bytes.Buffer
	out := &sparse{Writer: csv.NewWriter(&b), columns: columnsOf[T](), rows: reflect.ValueOf(rows), at: -1, more: more}
	for _, c := range out.columns {
		written := c.keep
		for row := 0; row < len(rows) && !written; row++ {
			written = c.recorded(out.rows.Index(row))
		}
		out.written = append(out.written, written)
	}
	if !slices.Contains(out.written, true) {
		for i := range out.written {
			out.written[i] = true
		}
	}
	err := gocsv.MarshalCSV(rows, out)
	if err == nil {
		_, _, err = read(bytes.NewReader(b.Bytes()), what)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	_, err = w.Write(b.Bytes())
	return err
}
