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
	Unit            string   // such as "US$" or "GPU-hours"
}

// NewEfficiency returns the figure, or an error that names the first field
// that cannot be drawn. Cost may be empty, which leaves one panel.
func NewEfficiency(e Efficiency) (*Panels, error) {
	if err := checkSeries(e.Scaling, positive); err != nil {
		return nil, err
	}
	percent := make([]Series, len(e.Scaling))
	for i, s := range e.Scaling {
		percent[i] = scaled(s, 100)
	}
	charts := []*Chart{workersChart("Scaling efficiency", "throughput per worker (% of linear)", percent)}
	x, y := extents(percent)
	_ = x
	extent{0, math.Max(105, 1.05*y.hi)}.set(&charts[0].Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	charts[0].marks = append([]mark{level{100, *idealStyle(mutedColor)}}, charts[0].marks...)
	if len(e.Cost) > 0 {
		if err := checkSeries(e.Cost, positive); err != nil {
			return nil, err
		}
		charts = append(charts, workersChart("Cost", e.Unit+" per "+e.Work+" ("+e.Unit+")", e.Cost))
		charts[1].YLabel = "cost per " + e.Work + " (" + e.Unit + ")"
	}
	return newPanels(e.Title, e.Subtitle, charts...), nil
}

// workersChart draws series against workers.
func workersChart(title, yLabel string, all []Series) *Chart {
	c := newChart(title, "", "workers", yLabel)
	x, y := extents(all)
	setX(c.Plot, x, AutoScale)
	setY(c.Plot, y, false, failingSeries(all))
	extrapolated := c.addExtrapolated(all)
	for i := range all {
		c.addSeries(all, i)
	}
	c.addCommonEntries(all, extrapolated)
	return c
}

// scaled returns a series with every value multiplied.
func scaled(s Series, by float64) Series {
	out := Series{Name: s.Name}
	for _, p := range s.Points {
		p.Y, p.Lo, p.Hi = p.Y*by, p.Lo*by, p.Hi*by
		out.Points = append(out.Points, p)
	}
	for _, b := range s.Curve {
		b.Mean, b.Lo, b.Hi = b.Mean*by, b.Lo*by, b.Hi*by
		out.Curve = append(out.Curve, b)
	}
	if s.Knee != nil {
		k := *s.Knee
		k.Y *= by
		out.Knee = &k
	}
	return out
}
