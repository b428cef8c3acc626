package data

import (
	"io"
	"slices"
)

// Records is a CSV file as text, for files without fixed columns such as
// recorded search tables.
type Records struct {
	Header []string
	Rows   [][]string // each as long as Header, blanks around cells removed
	Lines  []int      // 1-based first line of each row in the file
}

// ReadRecords reads a CSV file as [NewTable] does.
func ReadRecords(r io.Reader, name string) (*Records, error) {
	t, err := NewTable(r, name)
	if err != nil {
		return nil, err
	}
	out := &Records{Header: t.Header}
	err = t.Each(func(row *Row) error {
		out.Rows, out.Lines = append(out.Rows, slices.Clone(row.cells)), append(out.Lines, row.Line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
