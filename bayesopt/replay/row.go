package replay

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// rowReader reads one row, and keeps the first thing that is wrong with it.
type rowReader struct {
	at     data.Source
	c      data.Config
	o      Outcome
	price  float64 // as it stands in the row
	global float64 // global_batch
	plan   bool    // step_time_s stands for time_s, which the table does not have
	err    error
}

// readRow reads one row. Hourly is left at the price as it stands there; see
// [Table.setHourly].
func readRow(header, cells []string, names map[int]bool, at data.Source) (data.Config, Outcome, error) {
	r := rowReader{at: at, c: data.Config{Mode: data.AllReduce, Extra: map[string]string{}}, o: Outcome{Cells: cells}}
	// nodes are what does the work unless workers are counted too.
	r.plan = !slices.Contains(header, "time_s")
	counted := slices.ContainsFunc(header, func(h string) bool { return h == "workers" || h == "machines" || h == "placement" })
	for k, column := range header {
		cell := strings.TrimSpace(cells[k])
		switch {
		case column == "nodes" && counted:
			r.c.Nodes = r.count(column, cell)
		case names[k] || r.known(column, cell):
		default:
			r.knob(column, cell)
		}
	}
	r.finish()
	return r.c, r.o, r.err
}

// known reads a column that has a meaning of its own; it reports false for a
// further knob.
func (r *rowReader) known(column, cell string) bool {
	switch column {
	case "workers", "machines", "nodes":
		r.c.Workers = r.count(column, cell)
	case "placement":
		r.placement(column, cell)
	case "ps":
		r.c.PS = r.count(column, cell)
	case "accum_steps":
		r.c.AccumSteps = r.count(column, cell)
	case "mode":
		r.c.Mode = data.Mode(cell)
	case "gpu_type":
		r.c.GPUType = cell
	case "job":
		r.c.Job = cell
	case "local_batch":
		r.c.LocalBatch = r.number(column, cell, "samples per worker")
	case "global_batch":
		r.global = r.number(column, cell, "samples over all workers")
	case "price_per_hour":
		r.price = r.number(column, cell, "US$ per hour")
	case "step_time_s":
		if r.plan {
			r.o.Time = r.number(column, cell, "seconds")
		}
	case "time_s":
		r.o.Time = r.number(column, cell, "seconds")
	case "cost_usd":
		r.o.Cost = r.number(column, cell, "US$")
	case "status":
		r.status(column, cell)
	default:
		return r.layout(column, cell) || slices.Contains(outcomeColumns, column)
	}
	return true
}

// layout reads a column that is part of a layout; an empty cell is its default.
func (r *rowReader) layout(column, cell string) bool {
	if !slices.Contains(data.LayoutNames(), column) {
		return false
	}
	if want := r.c.Layout.Set(column, cell); want != "" && cell != "" {
		r.fail(column, cell, want)
	}
	return true
}

func (r *rowReader) fail(column, cell, want string) {
	if r.err == nil {
		r.err = &data.InputError{Source: data.Source{File: r.at.File, Line: r.at.Line, Column: column}, Found: strconv.Quote(cell), Want: want}
	}
}

// number reads a number ≥ 0, an empty cell as 0.
func (r *rowReader) number(column, cell, want string) float64 {
	if cell == "" {
		return 0
	}
	b := data.NonNegative(want)
	v, ok := b.Parse(cell)
	if !ok {
		r.fail(column, cell, b.Instead(cell))
	}
	return v
}

// count reads a whole number ≥ 0, an empty cell as 0.
func (r *rowReader) count(column, cell string) int {
	v := r.number(column, cell, "a whole number")
	if v != math.Trunc(v) || v > math.MaxInt32 {
		r.fail(column, cell, "a whole number")
		return 0
	}
	return int(v)
}

// status reads what became of a run.
func (r *rowReader) status(column, cell string) {
	r.o.Status = data.Status(cell)
	if known := data.Statuses(); !slices.Contains(known, r.o.Status) {
		r.fail(column, cell, fmt.Sprintf("one of %v", known))
	}
}

// knob reads a further parameter, text or a number.
func (r *rowReader) knob(column, cell string) {
	if v, err := strconv.ParseFloat(cell, 64); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		r.fail(column, cell, "text or a finite number")
	}
	r.c.Extra[column] = cell
}

func (r *rowReader) placement(column, cell string) {
	if cell == "" {
		return
	}
	p, err := data.ParsePlacement(cell)
	if err != nil {
		r.fail(column, cell, "workers per node, such as 4-4-2")
		return
	}
	r.c.Placement = p
}

// finish derives what follows from several columns.
func (r *rowReader) finish() {
	if r.c.Workers == 0 {
		for _, w := range r.c.Placement {
			r.c.Workers += w
		}
	}
	r.c.Workers = max(1, r.c.Workers)
	if r.c.LocalBatch == 0 && r.global > 0 {
		r.c.LocalBatch = r.global / float64(r.c.Replicas()*(r.c.AccumSteps+1))
	}
	r.o.Hourly = r.price
	if r.err == nil && r.o.Status == data.OK && !(r.o.Time > 0) {
		r.err = &data.InputError{Source: data.Source{File: r.at.File, Line: r.at.Line, Column: "time_s"}, Found: "nothing", Want: "seconds > 0, since status is ok"}
	}
}

// setHourly turns the price of a row into that of the whole configuration. Of
// what it is the price is not said in such tables; of the usual answers that
// one is taken by which cost_usd follows most closely from price and time,
// workers and parameter servers where there is no cost.
func (t *Table) setHourly() {
	units := []func(data.Config) float64{
		func(c data.Config) float64 { return float64(c.Workers + c.PS) },
		func(c data.Config) float64 { return float64(c.Workers + c.PS + 1) }, // and a master
		func(c data.Config) float64 { return float64(c.Workers) },
		func(c data.Config) float64 { return float64(c.NodeCount()) },
		func(data.Config) float64 { return 1 },
	}
	pick, least := 0, math.Inf(1)
	for k, unit := range units {
		var off float64
		n := 0
		for i, o := range t.Outcomes {
			if o.Hourly > 0 && o.Cost > 0 && o.Time > 0 {
				off += math.Abs(math.Log(o.Cost * 3600 / (o.Time * o.Hourly * unit(t.Candidates[i]))))
				n++
			}
		}
		if n > 0 && off/float64(n) < least-1e-6 {
			pick, least = k, off/float64(n)
		}
	}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		o.Hourly *= units[pick](t.Candidates[i])
		if o.Cost == 0 {
			o.Cost = o.Hourly * o.Time / 3600
		}
	}
	t.chargeFailures()
}

// chargeFailures charges a row that failed after an unknown time the shortest
// time of any row: its machines were started.
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
