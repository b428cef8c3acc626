// Package replay runs search methods on recorded tables: complete measurements
// of a search space, revealed row by row as a method asks. It reports the
// evaluations and cost that a method needs, and the quality of its stopping
// rule.
package replay

import (
	"bytes"
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
	Kind       string // source of the table, for averages
	Candidates []data.Config
	Outcomes   []Outcome // parallel to Candidates

	knobs []string // parameter columns that are further knobs
	// Architecture is the size of the model of training plans, zero if unknown.
	Architecture data.Architecture
	// Forms are parametric forms of step times for tables of training plans;
	// may be nil.
	Forms []bayesopt.MeanForm
	// Memory predicts feasibility from peaks of the trials; nil for tables
	// without peaks.
	Memory bayesopt.MemoryModel
	steps  func(*bayesopt.Options) // sets options for a table of step times; nil for whole jobs
}

// Outcome is the result of evaluating a candidate.
type Outcome struct {
	Status data.Status
	Time   float64 // seconds until the end or failure; 0 if unknown
	Cost   float64 // US$, charged also for failures
	Hourly float64 // US$ per hour of the whole configuration, known beforehand; 0 if unknown

	step      float64 // seconds per step, in a table of step times
	perSample float64 // seconds per sample, each worth one at the initial batch
	peak      float64 // bytes on the fullest GPU of a successful run; 0 if unknown
	device    float64 // bytes of a GPU; 0 if unknown
}

// outcomeColumns returns the columns of results; all others are parameters.
func outcomeColumns() []string {
	return []string{"time_s", "cost_usd", "status", "accuracy", "error",
		"step_time_s", "step_time_sd_s", "sync_time_s", "throughput", "goodput"}
}

// LoadTable is [ReadTable] of the file at path.
func LoadTable(path string) (*Table, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, path)
}

// readAll returns the contents of a file, decompressed.
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

// ReadTable reads a table of parameters, time_s, cost_usd and status; name is
// the file name in errors.
//
// The columns workers (or machines, or nodes if neither is present), ps, mode,
// gpu_type, placement, local_batch, global_batch and accum_steps are those of
// measurements.csv; other parameters are knobs. The unit of price_per_hour (a
// worker, a machine, the configuration) is inferred from cost_usd. A text
// column determined by vcpus and ram_gib, such as the name of a machine type,
// is not a knob.
//
// An infeasible row with a time was stopped by then: it counts as a timeout,
// whose time is a lower bound.
//
// Errors name file, line and column. Two rows with equal parameters are an
// error.
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
	t := &Table{Name: strings.TrimSuffix(filepath.Base(name), ".csv")}
	t.Kind, _, _ = strings.Cut(t.Name, "-")
	for k, column := range records.Header {
		if !slices.Contains(outcomeColumns(), column) && !slices.Contains(knownColumns(), column) && !isName(k, records.Header, records.Rows) {
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

// each reads the rows of a file, which must have the given columns.
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

// isName reports whether column k is text determined by vcpus and ram_gib.
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
