package plots

import (
	"fmt"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

// EfficiencyOf is what a model says of scaling efficiency and cost for base
// with each number of workers, which ascend, at the local batch of base. The
// cost is that of a million samples: in US$ if the predictor has a price for
// the GPU type, else in GPU-hours. It needs a batch.
func EfficiencyOf(p *predict.Predictor, base data.Config, workers []int) (Efficiency, error) {
	answers, err := predict.Sweep(p, base, workers)
	if err != nil {
		return Efficiency{}, err
	}
	e := Efficiency{Title: "What scaling costs: " + p.Model.Job(), Subtitle: describe(p.Model, base), Work: "million samples", Unit: "GPU-hours"}
	price := p.Price[base.GPUType]
	if price > 0 {
		e.Unit = "US$"
	} else {
		price = 1
	}
	first := answers[0]
	alone := first.Throughput.Mean / float64(first.Config.Workers)
	if !(alone > 0) {
		return Efficiency{}, bad("throughput", "no batch", "a batch, to turn steps into samples")
	}
	scaling, cost := Series{Name: seriesName(p.Model, base)}, Series{Name: seriesName(p.Model, base)}
	for _, a := range answers {
		k := float64(a.Config.Workers)
		scaling.Curve = append(scaling.Curve, BandOf(k, a.Throughput.Scale(1/(k*alone)), a.Extrapolated))
		cost.Curve = append(cost.Curve, BandOf(k, a.Throughput.Per(1e6*k*price/3600), a.Extrapolated))
	}
	points, err := MeasuredPoints(onCurve(p.Model, base), Throughput)
	if err != nil {
		return Efficiency{}, err
	}
	for _, pt := range points {
		k := pt.X
		s, c := pt, pt
		s.Y, s.Lo, s.Hi = pt.Y/(k*alone), pt.Lo/(k*alone), pt.Hi/(k*alone)
		if pt.ok() {
			c.Y = 1e6 * k * price / 3600 / pt.Y
			c.Lo, c.Hi = 0, 0
			if pt.Lo > 0 {
				c.Lo, c.Hi = 1e6*k*price/3600/pt.Hi, 1e6*k*price/3600/pt.Lo
			}
		}
		scaling.Points, cost.Points = append(scaling.Points, s), append(cost.Points, c)
	}
	e.Scaling, e.Cost = []Series{scaling}, []Series{cost}
	return e, nil
}

// describe names what a figure holds fixed.
func describe(m *fit.Model, c data.Config) string {
	s := seriesName(m, c)
	if c.LocalBatch > 0 {
		s += fmt.Sprintf(", %s samples per worker", number(c.LocalBatch))
	}
	return s
}
