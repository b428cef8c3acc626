package plots

import (
	"cmp"

	"gonum.org/v1/plot"
)

// Batch describes the trade-off of the batch on a fixed placement: larger
// batches raise the throughput and lower what each sample is worth (Pollux,
// OSDI'21, Fig. 1 and 2).
type Batch struct {
	Title, Subtitle string
	Throughput      []Band  // samples/s over the global batch, X ascending
	Goodput         []Band  // samples/s at initial-batch worth, at the same X
	Efficiency      []Band  // statistical efficiency in per cent, at the same X
	Best            float64 // the global batch to mark; 0 marks none
	Note            string  // beside the mark; "best: N" if empty
}

// NewBatch returns the figure: throughput and goodput in one panel, the
// statistical efficiency in the other. Errors name the first field that
// cannot be drawn; batches and rates must be positive.
func NewBatch(b Batch) (*Panels, error) {
	rates := []Series{{Name: "throughput", Curve: b.Throughput}, {Name: "goodput", Curve: b.Goodput}}
	for _, g := range b.Goodput {
		if g.X == b.Best {
			rates[1].Knee = &Knee{g.X, g.Mean, cmp.Or(b.Note, "best: "+Number(g.X))}
		}
	}
	worth := []Series{{Name: "statistical efficiency", Curve: b.Efficiency}}
	if err := cmp.Or(checkSeries(rates, positive), checkSeries(worth, positive)); err != nil {
		return nil, err
	}
	left := batchChart("Speed", "rate (samples/s)", rates)
	right := batchChart("Worth of a sample", "statistical efficiency (%)", worth)
	extent{0, 105}.set(&right.Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	return newPanels(b.Title, b.Subtitle, left, right), nil
}

// batchChart draws series against the global batch.
func batchChart(title, yLabel string, all []Series) *Chart {
	c := newChart(title, "", "global batch (samples)", yLabel)
	x, y := extents(all)
	if x.hi/x.lo >= 4 {
		x.padLog(0.05, 0.05).set(&c.Plot.X, plot.LogScale{}, powerTicks{})
	} else {
		x.pad(0.05, 0.05).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	}
	setY(c.Plot, y, false, 0)
	c.addAll(all)
	return c
}
