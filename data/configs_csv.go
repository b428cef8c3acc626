package data

import (
	"fmt"
	"io"
	"slices"

	"github.com/gocarina/gocsv"
)

// ConfigRow is a configuration and where it was read from.
type ConfigRow struct {
	Config
	Source Source
}

// ReadConfigs reads a table of configurations to predict: the columns of
// measurements.csv that describe a configuration, of which only workers or
// placement must be there. Columns of results are ignored, so that a
// measurements file is such a table too.
func ReadConfigs(r io.Reader, name string) (rows []ConfigRow, warnings []string, err error) {
	t, err := readTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if !t.has("workers", "placement") {
		return nil, nil, t.missing("workers", "a column workers or placement")
	}
	var cells []measurementRow
	if err := gocsv.UnmarshalCSV(t, &cells); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	extra := extraColumns(t.header)
	rows = make([]ConfigRow, 0, len(cells))
	anyJob := !slices.Contains(t.header, "job")
	for i, mr := range cells {
		if len(extra) > 0 {
			mr.extra = make(map[string]string, len(extra))
		}
		for knob, j := range extra {
			mr.extra[knob] = t.rows[i][j]
		}
		if anyJob {
			mr.Job = "any" // the model knows whose speed it predicts
		}
		at := &row{src: Source{File: name, Line: t.lines[i]}}
		c := mr.config(at)
		if at.err != nil {
			return nil, nil, at.err
		}
		if anyJob {
			c.Job = ""
		}
		rows = append(rows, ConfigRow{c, at.src})
	}
	return rows, t.unknownWarning(measurementColumns(), isExtraColumn), nil
}

// LoadConfigs reads the table at path, as [ReadConfigs] does.
func LoadConfigs(path string) (rows []ConfigRow, warnings []string, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadConfigs(f, path)
}
