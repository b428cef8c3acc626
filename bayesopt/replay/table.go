// Package replay tries search methods on recorded tables: complete
// measurements of a search space, of which a method sees a row only when it
// asks for it. It answers how many evaluations, and how much money, a method
// needs, and whether its stopping rule knows when it is done.
package replay

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/bayesopt"
	"knee/data"
)

// Table is a recorded search space: every row is a candidate.
type Table struct {
	Name       string
	Kind       string   // tables of one kind come from one source, for averages
	Header     []string // columns as they stand in the file
	Candidates []data.Config
	Outcomes   []Outcome // parallel to Candidates

	knobs []string // parameter columns without a meaning of their own
	// Architecture is that of the model of training plans, as far as known.
	Architecture data.Architecture
	// Forms are parametric forms of step times that a search may use, for tables
	// of training plans; may be nil.
	Forms []bayesopt.MeanForm
	// Memory says what fits, from the peaks of the trials so far, as in a study; nil
	// for tables that tell of no peaks.
	Memory bayesopt.MemoryModel
	steps  func(*bayesopt.Options) // of a table of step times; nil for one of whole jobs
}

// Outcome is what evaluating a candidate yields.
type Outcome struct {
	Status data.Status
	Time   float64  // seconds; of a failed run until it failed, 0 if not known
	Cost   float64  // US$, charged whatever the status
	Hourly float64  // US$ per hour of the whole configuration, known beforehand; 0 if not
	Cells  []string // the row; nil if it was not read from a file

	step      float64 // seconds per step, in a table of step times,
	perSample float64 // and per sample at initial-batch worth
	peak      float64 // bytes on the worst GPU, of a run that fitted; 0 if not known
	device    float64 // bytes that a GPU has; 0 if not known
}

// outcomeColumns hold what a run yielded. All others are parameters.
func outcomeColumns() []string {
	return []string{"time_s", "cost_usd", "status", "accuracy", "error",
		"step_time_s", "step_time_sd_s", "sync_time_s", "throughput", "goodput"}
}

// LoadTable reads the table at path, as [ReadTable] does.
func LoadTable(path string) (*Table, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, path)
}

// readAll returns what a file holds, decompressed.
func readAll(path string) ([]byte, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// rows returns the row of every candidate by its key.
func (t *Table) rows() map[string]int {
	index := map[string]int{}
	for i, c := range t.Candidates {
		index[c.Key()] = i
	}
	return index
}

// ReadTable reads a table of parameters, time_s, cost_usd and status.
//
// The columns workers (also machines, or nodes where neither is there), ps,
// mode, gpu_type, placement, local_batch, global_batch and accum_steps have the
// meaning they have in measurements.csv, and any other parameter is a knob. price_per_hour is no knob; of
// what it is the price (a worker, a machine, the whole configuration) is taken
// from how cost_usd follows from it. A text column whose
// value follows from the other parameters, such as the name of a machine type
// whose cores and memory are given, is a name and no knob either.
//
// A row that is infeasible after a time was stopped by then: it counts as a
// timeout, whose time is a lower bound.
//
// Errors name file, line and column. Two rows with equal parameters are one.
func ReadTable(r io.Reader, name string) (*Table, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	records, err := data.ReadRecords(bytes.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	if len(records.Rows) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name}, Found: "no rows", Want: "a header and at least one row"}
	}
	t := &Table{Name: strings.TrimSuffix(filepath.Base(name), ".csv"), Header: records.Header}
	t.Kind, _, _ = strings.Cut(t.Name, "-")
	for k, column := range t.Header {
		if !slices.Contains(outcomeColumns(), column) && !slices.Contains(knownColumns(), column) && !isName(k, t.Header, records.Rows) {
			t.knobs = append(t.knobs, column)
		}
	}
	seen := map[string]int{}
	err = t.each(text, name, []string{"time_s", "status"}, func(row *data.Row, c data.Config, o Outcome) error {
		if first, twice := seen[c.Key()]; twice {
			return &data.InputError{Source: row.Source(), Found: "the parameters of line " + strconv.Itoa(first) + " again", Want: "one row per configuration"}
		}
		seen[c.Key()] = row.Line
		t.Candidates, t.Outcomes = append(t.Candidates, c), append(t.Outcomes, o)
		return nil
	})
	t.setHourly()
	return t, err
}

// each reads the rows of a file that has some columns at least.
func (t *Table) each(text []byte, name string, columns []string, do func(row *data.Row, c data.Config, o Outcome) error) error {
	rows, err := data.NewTable(bytes.NewReader(text), name)
	if err != nil {
		return err
	}
	for _, column := range columns {
		if !rows.Has(column) {
			return rows.Missing(column, "a column "+column)
		}
	}
	return rows.Each(func(row *data.Row) error {
		c, o := t.readRow(row)
		if row.Err() != nil {
			return row.Err()
		}
		return do(row, c, o)
	})
}

// isName reports whether column k is text that follows from the numbers that
// describe a machine: rows that agree in those never differ in it.
func isName(k int, header []string, rows [][]string) bool {
	value := map[string]string{}
	text := false
	for _, r := range rows {
		text = text || !isNumber(r[k])
		var machine string
		for n, column := range header {
			if column == "vcpus" || column == "ram_gib" {
				machine += r[n] + "|"
			}
		}
		if v, ok := value[machine]; ok && v != r[k] {
			return false
		}
		value[machine] = r[k]
	}
	return text && len(value) > 1
}

func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Parameters returns the parameter columns of candidate i as the file has
// them, numbers as numbers.
func (t *Table) Parameters(i int) map[string]any {
	p := map[string]any{}
	for k, column := range t.Header {
		if slices.Contains(outcomeColumns(), column) {
			continue
		}
		if cell := t.Outcomes[i].Cells[k]; isNumber(cell) {
			p[column] = json.Number(strings.TrimSpace(cell))
		} else {
			p[column] = cell
		}
	}
	return p
}
