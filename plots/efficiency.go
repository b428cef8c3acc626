package plots

import (
	"math"

	"gonum.org/v1/plot"
)

// Efficiency describes the two panels people decide a job's size by: how much
// of linear scaling is left, and what an epoch (or another amount of work)
// costs, both against workers.
type Efficiency struct {
	Title, Subtitle string
	Scaling         []Series // throughput per worker relative to the fewest workers, 1 = linear
	Cost            []Series // of Work, in Unit
	Work            string   // such as "epoch" or "million samples"
	Unit            string   // such as "US$" or "worker-hours"
}

// NewEfficiency returns the figure, or an error that names the first field
// that cannot be drawn. Cost may be empty, which leaves one panel.
func NewEfficiency(e Efficiency) (*Panels, error) {
	if err := checkSeries(e.Scaling, positive); err != nil {
		return nil, err
	}
	percent := make([]Series, len(e.Scaling))
	for i, s := range e.Scaling {
		percent[i] = s.mapped(func(_, y float64) float64 { return 100 * y })
	}
	charts := []*Chart{workersChart("Scaling efficiency", "throughput per worker (% of linear)", percent)}
	_, y := extents(percent)
	extent{0, math.Max(105, 1.05*y.hi)}.set(&charts[0].Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	charts[0].layers = append([]layer{level{100, *idealStyle(mutedColor)}}, charts[0].layers...)
	if len(e.Cost) > 0 {
		if err := checkSeries(e.Cost, positive); err != nil {
			return nil, err
		}
		charts = append(charts, workersChart("Cost", "cost per "+e.Work+" ("+e.Unit+")", e.Cost))
	}
	return newPanels(e.Title, e.Subtitle, charts...), nil
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
