package plots

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
)

// Efficiency describes two panels for choosing a job's size: scaling efficiency
// and cost of the work, both against workers.
type Efficiency struct {
	Title, Subtitle string
	Scaling         []Series // throughput per worker, % of that at the fewest workers
	Cost            []Series // of a million samples, in Unit
	Unit            string   // such as "US$" or "worker-hours"
}

// NewEfficiency returns the figure, or an error that names the first field
// that cannot be drawn.
func NewEfficiency(e Efficiency) (*Panels, error) {
	if err := cmp.Or(checkSeries(e.Scaling, positive), checkSeries(e.Cost, positive)); err != nil {
		return nil, err
	}
	scaling := workersChart("Scaling efficiency", "throughput per worker (% of linear)", e.Scaling)
	_, y := extents(e.Scaling)
	extent{0, math.Max(105, 1.05*y.hi)}.set(&scaling.Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	scaling.layers = append([]layer{level(guide(mutedColor, dotPattern...), 100)}, scaling.layers...)
	return newPanels(e.Title, e.Subtitle, scaling, workersChart("Cost", "cost per million samples ("+e.Unit+")", e.Cost)), nil
}

// workersChart draws series against workers.
func workersChart(title, yLabel string, all []Series) *Chart {
	c := newChart(title, "", "workers", yLabel)
	x, y := extents(all)
	setX(c.Plot, x, AutoScale)
	setY(c.Plot, y, false, failingSeries(all))
	c.addAll(all)
	return c
}
