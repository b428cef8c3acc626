package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// otherUnit is a warning of two rows of which one seems to be in another unit,
// empty if there are none: between the step times of rows that differ in workers,
// placement and batch only there is a gap nearer to 1000 than to 1, beyond what the
// work of a worker explains.
func otherUnit(ms []Measurement) string {
	type row struct {
		*Measurement
		kind string  // what the rows compared have in common
		work float64 // samples of a worker and step; without a batch, its share of a fixed one
	}
	const gap = 31.6 // √1000
	least, most := math.Inf(1), 0.0
	for _, m := range ms {
		if m.Status == OK {
			least, most = min(least, m.StepTime), max(most, m.StepTime)
		}
	}
	if most/least < gap { // as of nearly every table
		return ""
	}
	var rows []row
	for i := range ms {
		if ms[i].Status != OK {
			continue
		}
		c := ms[i].Config
		samples := c.LocalBatch * float64(c.AccumSteps+1)
		c.Workers, c.Nodes, c.Placement, c.PS, c.LocalBatch, c.AccumSteps = 0, 0, nil, 0, 0, 0
		rows = append(rows, row{&ms[i], fmt.Sprint(samples > 0, c.Key(), c.Architecture), cmp.Or(samples, 1/float64(ms[i].Workers))})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.StepTime, b.StepTime)) })
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		times := b.StepTime / a.StepTime
		if a.kind == b.kind && times/max(1, b.work/a.work) > gap {
			return fmt.Sprintf("%s: a step of %s takes %.3g s, %.3g times that of line %d, %s: are both in one unit", b.Source, b.Config, b.StepTime, times, a.Source.Line, a.Config)
		}
	}
	return ""
}
