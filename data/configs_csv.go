package data

import "io"

// ConfigRow is a configuration and its place in the file.
type ConfigRow struct {
	Config
	Source Source
}

// ReadConfigs reads a table of configurations to predict: the columns of
// measurements.csv that describe a configuration, of which only workers or
// placement is required. Columns of results are ignored, so a measurements file
// is valid too. Unknown columns give one warning.
func ReadConfigs(r io.Reader, name string) (rows []ConfigRow, warnings []string, err error) {
	t, err := NewTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if !t.Has("workers", "placement") {
		return nil, nil, t.Missing("workers", "a column workers or placement")
	}
	mr := &measurementReader{types: map[string]string{}, extra: extraColumns(t.Header), layouts: t.Has("tp", "pp")}
	anyJob := !t.Has("job")
	if anyJob {
		t.given["job"] = "any" // the job is that of the model
	}
	err = t.Each(func(row *Row) error {
		m := Measurement{Config: mr.config(row)}
		readInto(row, &m, architectureColumns())
		c := m.Config
		if anyJob {
			c.Job = ""
		}
		rows = append(rows, ConfigRow{c, row.Source()})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return rows, t.Unknown(measurementColumnNames(), isExtraColumn), nil
}
