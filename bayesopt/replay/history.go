package replay

import (
	"fmt"
	"slices"

	"knee/data"
)

// LoadHistory reads what has been measured of the table so far: a file with
// the table's columns, rows in any order, none at all, or some repeatedly. A
// row that is no candidate of the table is an error that names its line.
func (t *Table) LoadHistory(path string, g Goal) ([]data.Measurement, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := data.ReadRecords(f, path)
	if err != nil {
		return nil, err
	}
	header := records.Header
	for _, column := range t.Header {
		if !slices.Contains(header, column) && !slices.Contains(outcomeColumns, column) {
			return nil, &data.InputError{Source: data.Source{File: path, Line: 1, Column: column}, Found: fmt.Sprintf("columns %v", header),
				Want: "every parameter column of the table " + t.Name}
		}
	}
	names := map[int]bool{}
	for k, column := range header {
		at := slices.Index(t.Header, column)
		names[k] = at < 0 || t.names[at]
	}
	index := map[string]int{}
	for i, c := range t.Candidates {
		index[c.Key()] = i
	}
	var ms []data.Measurement
	for i, cells := range records.Rows {
		at := data.Source{File: path, Line: records.Lines[i]}
		c, o, err := readRow(header, cells, names, at)
		if err != nil {
			return nil, err
		}
		k, ok := index[c.Key()]
		if !ok {
			return nil, &data.InputError{Source: at, Found: c.String(), Want: "a row of the table " + t.Name}
		}
		o.Hourly = t.Outcomes[k].Hourly
		m := measured(t.Candidates[k], o, g)
		m.Source = at
		ms = append(ms, m)
	}
	return ms, nil
}
