package data

import "io"

// Records is a CSV file as text: for files whose columns are not fixed, such
// as recorded search tables and published workloads.
type Records struct {
	Header []string
	Rows   [][]string // each as long as Header, blanks around cells removed
	Lines  []int      // 1-based, in which line of the file each row begins
}

// ReadRecords reads a CSV file as every reader of this package does: a byte
// order mark, CRLF line ends, blank rows and blanks around cells are
// tolerated; an empty file, a column that is there twice, a row of another
// length and misplaced quotes are an [*InputError] naming file and line.
func ReadRecords(r io.Reader, name string) (*Records, error) {
	t, err := readTable(r, name)
	if err != nil {
		return nil, err
	}
	return &Records{Header: t.header, Rows: t.rows, Lines: t.lines}, nil
}
