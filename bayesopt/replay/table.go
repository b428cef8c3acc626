// Package replay runs search methods on recorded tables: complete measurements
// of a search space, revealed row by row as a method asks. It reports the
// evaluations and cost that a method needs, and the quality of its stopping
// rule.
package replay

import (
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
	rows, err := data.NewTable(r, name)
	if err != nil {
		return nil, err
	}
	for _, column := range []string{"time_s", "status"} {
		if !rows.Has(column) {
			return nil, rows.Missing(column, "a column "+column)
		}
	}
	t, seen := &Table{Name: strings.TrimSuffix(filepath.Base(name), ".csv")}, map[string]int{}
	t.Kind, _, _ = strings.Cut(t.Name, "-")
	t.knobs = slices.DeleteFunc(slices.Clone(rows.Header), func(c string) bool {
		return slices.Contains(outcomeColumns(), c) || slices.Contains(knownColumns(), c)
	})
	err = rows.Each(func(row *data.Row) error {
		c, o := t.readRow(row)
		if row.Err() != nil {
			return row.Err()
		}
		if first, twice := seen[c.Key()]; twice {
			return &data.InputError{Source: row.Source(), Found: "the parameters of line " + strconv.Itoa(first) + " again", Want: "one row per configuration"}
		}
		seen[c.Key()] = row.Line
		t.Candidates, t.Outcomes = append(t.Candidates, c), append(t.Outcomes, o)
		return nil
	})
	if err == nil && len(t.Candidates) == 0 {
		err = &data.InputError{Source: data.Source{File: name}, Found: "no rows", Want: "a header and at least one row"}
	}
	t.knobs = slices.DeleteFunc(t.knobs, func(knob string) bool {
		name := t.isName(knob)
		for i := range t.Candidates {
			if name {
				delete(t.Candidates[i].Extra, knob)
			}
		}
		return name
	})
	t.setHourly()
	return t, err
}

// isName reports whether a knob is text determined by vcpus and ram_gib.
func (t *Table) isName(knob string) bool {
	names, text := map[string]string{}, false
	for _, c := range t.Candidates {
		machine, name := c.Extra["vcpus"]+"|"+c.Extra["ram_gib"], c.Extra[knob]
		if other, ok := names[machine]; ok && other != name {
			return false
		}
		names[machine], text = name, text || !isNumber(name)
	}
	return text && len(names) > 1
}

func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
