package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"knee/data"
)

// record is a row of a CSV file that a replay wrote.
type record struct {
	cells []string
	at    map[string]int // where each column stands
	src   data.Source    // file and line
}

func (r record) cell(column string) string { return r.cells[r.at[column]] }

// run names what a row is of. A file may hold several.
func (r record) run() [2]string { return [2]string{r.cell("policy"), r.cell("workload")} }

// bad says what is wrong with one column.
func (r record) bad(column, found, want string) error {
	src := r.src
	src.Column = column
	return &data.InputError{Source: src, Found: found, Want: want}
}

// eachRecord calls do for every row of a file that has the columns, in any
// order and among others. name is the file, for errors.
func eachRecord(r io.Reader, name string, columns []string, do func(record) error) error {
	c := csv.NewReader(r)
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "an empty file", Want: "columns " + strings.Join(columns, ", ")}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := map[string]int{}
	for _, want := range columns {
		if at[want] = slices.Index(header, want); at[want] < 0 {
			return &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "columns " + strings.Join(header, ", "), Want: "a column " + want}
		}
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		if err := do(record{row, at, data.Source{File: name, Line: line}}); err != nil {
			return err
		}
	}
}
