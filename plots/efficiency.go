package plots

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// efficiency is two panels for choosing a job's size, against workers.
type efficiency struct {
	Title, Subtitle string
	Scaling         []Series // throughput per worker, % of that at the fewest workers
	Cost            []Series // of a million samples, in Unit
	Unit            string   // such as "US$" or "worker-hours"
}

// NewEfficiency draws scaling efficiency and cost under every condition, each of which
// needs a batch: in US$ if every GPU type has a price, else in worker-hours.
func NewEfficiency(all []Condition) (*Panels, error) { return drawn(efficiencyOf(all)) }

func efficiencyOf(all []Condition) (efficiency, error) {
	e := efficiency{Title: "What scaling costs: " + jobsOf(all), Unit: "US$"}
	if slices.ContainsFunc(all, func(c Condition) bool { return !(c.Predictor.Price[c.Base.GPUType] > 0) }) {
		e.Unit = "worker-hours"
	}
	rates, err := ScalabilityOf(all, Throughput)
	if err != nil {
		return e, err
	}
	if rates.Quantity != Throughput {
		return e, bad("throughput", "no batch", "a batch, to turn steps into samples")
	}
	e.Subtitle = rates.Subtitle
	for i, s := range rates.Series {
		one := s.Curve[0].Mean / s.Curve[0].X // of one worker at the fewest workers
		hour := 1e6 / 3600                    // of a worker for a million samples at one sample per second
		if e.Unit == "US$" {
			hour *= all[i].Predictor.Price[all[i].Base.GPUType]
		}
		e.Scaling = append(e.Scaling, s.mapped(func(k, v float64) float64 { return 100 * v / (k * one) }))
		e.Cost = append(e.Cost, s.mapped(func(k, v float64) float64 { return hour * k / v }))
	}
	return e, nil
}

func (e efficiency) draw() (*Panels, error) {
	if err := cmp.Or(checkSeries(e.Scaling, positive), checkSeries(e.Cost, positive)); err != nil {
		return nil, err
	}
	scaling := curvesChart("Scaling efficiency", "workers", "throughput per worker (% of linear)", e.Scaling)
	_, y := extents(e.Scaling)
	extent{0, math.Max(105, 1.05*y.hi)}.set(&scaling.Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	scaling.layers = append([]layer{level(guide(mutedColor, dotPattern...), 100)}, scaling.layers...)
	return newPanels(e.Title, e.Subtitle, scaling, curvesChart("Cost", "workers", "cost per million samples ("+e.Unit+")", e.Cost)), nil
}

// curvesChart draws series against what they count.
func curvesChart(title, xLabel, yLabel string, all []Series) *Chart {
	c := newChart(title, "", xLabel, yLabel)
	x, y := extents(all)
	setX(c.Plot, x, AutoScale)
	setY(c.Plot, y, false, failingSeries(all))
	c.addAll(all)
	return c
}
