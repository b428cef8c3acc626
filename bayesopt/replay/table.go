// Package replay runs search methods on recorded tables: complete measurements of a search
// space, revealed row by row as a method asks. It reports the evaluations and cost that a
// method needs, and the quality of its stopping rule.
package replay

import (
	"cmp"
	"fmt"
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

	// Architecture is the size of the model of training plans, zero if unknown.
	Architecture data.Architecture
	// Forms are parametric forms of step times for tables of training plans; may be nil.
	Forms []bayesopt.MeanForm
	// Model is [bayesopt.Options.Model]; may be nil.
	Model bayesopt.JointModel
	// Memory predicts feasibility from peaks of the trials; nil for tables without peaks.
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

// ReadTable reads a table of parameters, time_s, cost_usd and status; name is
// the file name in errors.
//
// The columns workers (or machines, or nodes if neither is present), ps, mode, gpu_type,
// placement, local_batch, global_batch and accum_steps are those of measurements.csv; other
// parameters are knobs. The unit of price_per_hour (a worker, a machine, the configuration)
// is inferred from cost_usd. A text column determined by vcpus and ram_gib, such as the
// name of a machine type, is not a knob.
//
// An infeasible row with a time counts as a timeout, whose time is a lower bound. Errors
// name file, line and column; two rows with equal parameters are one.
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
	results := []string{"time_s", "cost_usd", "status", "price_per_hour", "accuracy", "error",
		"step_time_s", "step_time_sd_s", "sync_time_s", "throughput", "goodput"}
	parameters := slices.DeleteFunc(slices.Clone(rows.Header), func(c string) bool { return slices.Contains(results, c) })
	err = rows.Each(func(row *data.Row) error {
		c, o := readRow(row, parameters)
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
	for _, column := range parameters {
		if t.isName(column) {
			for _, c := range t.Candidates {
				delete(c.Extra, column)
			}
		}
	}
	t.setHourly()
	return t, err
}

// isName reports whether a column is text determined by vcpus and ram_gib.
func (t *Table) isName(column string) bool {
	names, text := map[[2]string]string{}, false
	for _, c := range t.Candidates {
		machine, name := [2]string{c.Extra["vcpus"], c.Extra["ram_gib"]}, c.Extra[column]
		if other, ok := names[machine]; ok && other != name {
			return false
		}
		_, err := strconv.ParseFloat(name, 64)
		names[machine], text = name, text || err != nil
	}
	return text && len(names) > 1
}

// readRow reads one row, which keeps its errors; Hourly is the price in the file.
func readRow(r *data.Row, parameters []string) (data.Config, Outcome) {
	c := data.Config{Mode: data.AllReduce}
	for _, column := range parameters {
		name, cell := column, r.Cell(column)
		if column == "machines" {
			name = "workers"
		}
		if want := c.Set(name, cell); want != "" && cell != "" {
			r.Bad(column, want)
		}
	}
	if c.Workers = max(c.Workers, c.Placement.Workers()); c.Workers == 0 { // nodes count as workers if those are missing
		c.Workers, c.Nodes = max(1, c.Nodes), 0
	}
	if c.LocalBatch == 0 {
		c.LocalBatch = r.Number("global_batch", 0, data.Samples()) / float64(c.Replicas()*(c.AccumSteps+1))
	}
	o := Outcome{Status: data.Status(r.Cell("status")), Hourly: r.Number("price_per_hour", 0, data.NonNegative("US$ per hour")),
		Time: r.Number("time_s", 0, data.NonNegative("seconds")), Cost: r.Number("cost_usd", 0, data.NonNegative("US$"))}
	if known := data.Statuses(); !slices.Contains(known, o.Status) {
		r.Bad("status", fmt.Sprintf("one of %v", known))
	}
	if o.Status == data.Infeasible && o.Time > 0 { // ran until a time limit
		o.Status = data.Timeout
	}
	if o.Status == data.OK && !(o.Time > 0) {
		r.Fail("time_s", "nothing", "seconds > 0, since status is ok")
	}
	return c, o
}

// setHourly converts the price of a row to the whole configuration. Tables do not state the
// unit of a price; of the usual ones, the one that best explains cost_usd from price and
// time is used, workers plus parameter servers if there is no cost.
func (t *Table) setHourly() {
	units := []func(data.Config) float64{
		func(c data.Config) float64 { return float64(c.Workers + c.PS) },
		func(c data.Config) float64 { return float64(c.Workers + c.PS + 1) }, // and a master
		func(c data.Config) float64 { return float64(c.Workers) },
		func(c data.Config) float64 { return float64(c.NodeCount()) },
		func(data.Config) float64 { return 1 },
	}
	off := func(unit func(data.Config) float64) (sum float64) {
		for i, o := range t.Outcomes {
			if o.Hourly > 0 && o.Cost > 0 && o.Time > 0 {
				sum += math.Abs(math.Log(o.Cost * 3600 / (o.Time * o.Hourly * unit(t.Candidates[i]))))
			}
		}
		return sum
	}
	unit := slices.MinFunc(units, func(a, b func(data.Config) float64) int { return cmp.Compare(off(a), off(b)) })
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		o.Hourly *= unit(t.Candidates[i])
		o.Cost = cmp.Or(o.Cost, o.Hourly*o.Time/3600)
	}
	t.chargeFailures()
}

// chargeFailures charges a failure after an unknown time the shortest time of any row.
func (t *Table) chargeFailures() {
	shortest := math.Inf(1)
	for _, o := range t.Outcomes {
		if o.Time > 0 {
			shortest = min(shortest, o.Time)
		}
	}
	for i := range t.Outcomes {
		if o := &t.Outcomes[i]; o.Status != data.OK && o.Time == 0 && o.Cost == 0 && !math.IsInf(shortest, 1) {
			o.Cost = o.Hourly * shortest / 3600
		}
	}
}
