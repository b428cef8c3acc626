package replay

import (
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

	names map[int]bool // columns that only name what others describe
	// Forms are parametric forms of step times that a search may use, for tables
	// of training plans; may be nil.
	Forms []bayesopt.MeanForm
	steps *Steps // of a table of step times; nil for one of whole jobs
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
}

// The columns that hold what a run yielded. All others are parameters.
var outcomeColumns = []string{"time_s", "cost_usd", "status", "accuracy", "error",
	"step_time_s", "step_time_sd_s", "sync_time_s", "throughput", "goodput"}

// LoadTable reads the table at path, as [ReadTable] does.
func LoadTable(path string) (*Table, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, path)
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
// Errors name file, line and column. Two rows with equal parameters are one.
func ReadTable(r io.Reader, name string) (*Table, error) {
	records, err := data.ReadRecords(r, name)
	if err != nil {
		return nil, err
	}
	if len(records.Rows) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name}, Found: "no rows", Want: "a header and at least one row"}
	}
	t := &Table{Name: strings.TrimSuffix(filepath.Base(name), ".csv"), Header: records.Header}
	t.Kind, _, _ = strings.Cut(t.Name, "-")
	for _, want := range []string{"time_s", "status"} {
		if !slices.Contains(t.Header, want) {
			return nil, &data.InputError{Source: data.Source{File: name, Line: 1, Column: want},
				Found: "columns " + strings.Join(t.Header, ", "), Want: "a column " + want}
		}
	}
	t.names = nameColumns(t.Header, records.Rows)
	seen := map[string]int{}
	for i, cells := range records.Rows {
		line := records.Lines[i]
		c, o, err := readRow(t.Header, cells, t.names, data.Source{File: name, Line: line})
		if err != nil {
			return nil, err
		}
		if first, twice := seen[c.Key()]; twice {
			return nil, &data.InputError{Source: data.Source{File: name, Line: line}, Found: "the parameters of line " + strconv.Itoa(first) + " again", Want: "one row per configuration"}
		}
		seen[c.Key()] = line
		t.Candidates, t.Outcomes = append(t.Candidates, c), append(t.Outcomes, o)
	}
	t.setHourly()
	return t, nil
}

// nameColumns finds the text columns that follow from the numbers: columns in
// which rows that agree in every numeric parameter never differ.
func nameColumns(header []string, rows [][]string) map[int]bool {
	var numeric, text []int
	for k, h := range header {
		switch {
		case slices.Contains(outcomeColumns, h) || h == "price_per_hour":
		case slices.ContainsFunc(rows, func(r []string) bool { return !isNumber(r[k]) }):
			text = append(text, k)
		default:
			numeric = append(numeric, k)
		}
	}
	names := map[int]bool{}
	for _, k := range text {
		value := map[string]string{}
		follows := true
		for _, r := range rows {
			var key strings.Builder
			for _, n := range numeric {
				if machineColumn(header[n]) {
					key.WriteString(r[n] + "|")
				}
			}
			if v, ok := value[key.String()]; ok && v != r[k] {
				follows = false
			}
			value[key.String()] = r[k]
		}
		names[k] = follows && len(value) > 1
	}
	return names
}

// machineColumn reports whether a column describes one machine: those alone
// can make the name of a machine type redundant.
func machineColumn(name string) bool { return name == "vcpus" || name == "ram_gib" }

func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Parameters returns the parameter columns of candidate i as the file has
// them, numbers as numbers.
func (t *Table) Parameters(i int) map[string]any {
	p := map[string]any{}
	for k, column := range t.Header {
		if slices.Contains(outcomeColumns, column) {
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
