package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"knee/data"
)

// knownColumns returns the parameters that are not further knobs.
func knownColumns() []string {
	return append(data.LayoutNames(), "workers", "machines", "nodes", "placement", "ps", "mode", "gpu_type",
		"local_batch", "global_batch", "accum_steps", "price_per_hour")
}

// readRow reads one row; the row keeps its errors. Hourly is the price in the
// file; see [Table.setHourly].
func (t *Table) readRow(r *data.Row) (data.Config, Outcome) {
	c := data.Config{Mode: data.Mode(cmp.Or(r.Cell("mode"), string(data.AllReduce))), GPUType: r.Text("gpu_type"),
		PS: r.Whole("ps", 0), AccumSteps: r.Whole("accum_steps", 0), Nodes: r.Whole("nodes", 0), Extra: map[string]string{}}
	var err error
	if c.Placement, err = data.ParsePlacement(r.Cell("placement")); err != nil {
		r.Bad("placement", "workers per node, such as 4-4-2")
	}
	c.Workers = max(r.Whole("workers", 0), r.Whole("machines", 0), c.Placement.Workers())
	if c.Workers == 0 { // nodes count as workers if those are missing
		c.Workers, c.Nodes = max(1, c.Nodes), 0
	}
	for _, name := range data.LayoutNames() {
		if cell := r.Cell(name); cell != "" {
			if want := c.Layout.Set(name, cell); want != "" {
				r.Bad(name, want)
			}
		}
	}
	c.LocalBatch = r.Number("local_batch", r.Number("global_batch", 0, data.Samples())/float64(c.Replicas()*(c.AccumSteps+1)), data.Samples())
	for _, name := range t.knobs {
		c.Extra[name] = r.Cell(name)
		if v, err := strconv.ParseFloat(c.Extra[name], 64); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			r.Bad(name, "text or a finite number")
		}
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

// setHourly converts the price of a row to the whole configuration. Tables do
// not state the unit of a price; of the usual ones, the one that best explains
// cost_usd from price and time is used, workers plus parameter servers if there
// is no cost.
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
// time of any row, for starting the machines.
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
