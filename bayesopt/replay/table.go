package replay

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// Table is a recorded search space: every row is a candidate.
type Table struct {
	Name       string
	Header     []string // columns as they stand in the file
	Candidates []data.Config
	Outcomes   []Outcome // parallel to Candidates

	names map[int]bool // columns that only name what others describe
}

// Outcome is what evaluating a candidate yields.
type Outcome struct {
	Status data.Status
	Time   float64  // seconds; of a failed run until it failed, 0 if not known
	Cost   float64  // US$, charged whatever the status
	Hourly float64  // US$ per hour of the whole configuration, known beforehand; 0 if not
	Cells  []string // the row
}

// The columns that hold what a run yielded. All others are parameters.
var outcomeColumns = []string{"time_s", "cost_usd", "status", "accuracy", "error"}

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
// The columns workers (also machines or nodes), ps, mode and gpu_type have
// the meaning they have in measurements.csv; any other parameter is a knob.
// price_per_hour is the price of one machine and no knob. A text column whose
// value follows from the other parameters, such as the name of a machine type
// whose cores and memory are given, is a name and no knob either.
//
// Errors name file, line and column. Two rows with equal parameters are one.
func ReadTable(r io.Reader, name string) (*Table, error) {
	records, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(records) < 2 {
		return nil, &data.InputError{Source: data.Source{File: name}, Found: "no rows", Want: "a header and at least one row"}
	}
	t := &Table{Name: strings.TrimSuffix(filepath.Base(name), ".csv"), Header: records[0]}
	for _, want := range []string{"time_s", "status"} {
		if !slices.Contains(t.Header, want) {
			return nil, &data.InputError{Source: data.Source{File: name, Line: 1, Column: want},
				Found: "columns " + strings.Join(t.Header, ", "), Want: "a column " + want}
		}
	}
	t.names = nameColumns(t.Header, records[1:])
	seen := map[string]int{}
	for i, cells := range records[1:] {
		c, o, err := readRow(t.Header, cells, t.names, data.Source{File: name, Line: i + 2})
		if err != nil {
			return nil, err
		}
		if first, twice := seen[c.Key()]; twice {
			return nil, &data.InputError{Source: data.Source{File: name, Line: i + 2}, Found: "the parameters of line " + strconv.Itoa(first) + " again", Want: "one row per configuration"}
		}
		seen[c.Key()] = i + 2
		t.Candidates, t.Outcomes = append(t.Candidates, c), append(t.Outcomes, o)
	}
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

// readRow reads one row.
func readRow(header, cells []string, names map[int]bool, at data.Source) (data.Config, Outcome, error) {
	c := data.Config{Mode: data.AllReduce, Workers: 1, Extra: map[string]string{}}
	o := Outcome{Cells: cells}
	var price float64
	var err error
	for k, column := range header {
		cell := strings.TrimSpace(cells[k])
		number := func(want string) float64 {
			v, e := strconv.ParseFloat(cell, 64)
			if cell == "" {
				return 0
			}
			if (e != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0)) && err == nil {
				err = &data.InputError{Source: data.Source{File: at.File, Line: at.Line, Column: column}, Found: strconv.Quote(cell), Want: want}
			}
			return v
		}
		switch column {
		case "workers", "machines", "nodes":
			c.Workers = max(1, int(number("a number of machines")))
		case "ps":
			c.PS = int(number("a number of parameter servers"))
		case "mode":
			c.Mode = data.Mode(cell)
		case "gpu_type":
			c.GPUType = cell
		case "price_per_hour":
			price = number("US$ per hour")
		case "time_s":
			o.Time = number("seconds")
		case "cost_usd":
			o.Cost = number("US$")
		case "status":
			o.Status = data.Status(cell)
		case "accuracy", "error":
		default:
			if !names[k] {
				c.Extra[column] = cell
			}
		}
	}
	o.Hourly = price * float64(c.Workers+c.PS)
	if o.Cost == 0 {
		o.Cost = o.Hourly * o.Time / 3600
	}
	if err == nil && o.Status == data.OK && !(o.Time > 0) {
		err = &data.InputError{Source: data.Source{File: at.File, Line: at.Line, Column: "time_s"}, Found: "nothing", Want: "seconds > 0, since status is ok"}
	}
	return c, o, err
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
