package plots

import (
	"fmt"
	"maps"
	"slices"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

// ModelSeries is what a model says of one scalability curve: the prediction
// for base with each number of workers at the local batch of base, the
// measurements that lie on the curve, and the knee of the quantity shown. It is named after the
// mode. Quantity must not be Goodput, which measurements do not hold.
func ModelSeries(p *predict.Predictor, base data.Config, workers []int, q Quantity) (Series, error) {
	answers, err := predict.Sweep(p, base, workers)
	if err != nil {
		return Series{}, err
	}
	s := Series{Name: seriesName(p.Model, base)}
	for _, a := range answers {
		s.Curve = append(s.Curve, BandOf(float64(a.Config.Workers), estimateOf(a, q), a.Extrapolated))
	}
	shown := func(a predict.Answer) float64 { return estimateOf(a, q).Mean }
	// A curve that still rises at its end has its knee further on, if anywhere.
	if i := predict.KneeOf(answers, shown); q != StepTime && i >= 0 && i < len(answers)-1 {
		s.Knee = &Knee{X: float64(answers[i].Config.Workers), Y: estimateOf(answers[i], q).Mean}
	}
	s.Points, err = MeasuredPoints(onCurve(p.Model, base), q)
	return s, err
}

// seriesName tells a curve from the others of one figure. It names the values
// at which it holds the study's own knobs that were varied.
func seriesName(m *fit.Model, c data.Config) string {
	name := c.GPUType + ", " + string(c.ModeOrDefault())
	if c.PS > 0 {
		name += fmt.Sprintf(", %d ps", c.PS)
	}
	if c, err := m.Resolve(atLeastOne(c)); err == nil {
		for _, k := range m.Knobs(c.GPUType, c.Mode) {
			if len(k.Values) > 1 {
				name += ", " + k.Name + " " + c.Extra[k.Name]
			}
		}
	}
	return name
}

// estimateOf is the part of an answer that a figure shows.
func estimateOf(a predict.Answer, q Quantity) data.Estimate {
	switch q {
	case Goodput:
		return a.Goodput
	case StepTime:
		return a.StepTime
	case Speed:
		return a.StepTime.Per(1)
	}
	return a.Throughput
}

// atLeastOne returns c with a worker if it has none.
func atLeastOne(c data.Config) data.Config {
	c.Workers = max(c.Workers, c.Placement.Workers(), 1)
	return c
}

// onCurve returns the measurements that differ from base in workers only.
func onCurve(m *fit.Model, base data.Config) []data.Measurement {
	var on []data.Measurement
	full, err := m.Resolve(atLeastOne(base))
	if err != nil {
		return nil
	}
	for _, row := range m.Measurements(base.GPUType, base.ModeOrDefault()) {
		same, err := m.Resolve(row.Config)
		if err == nil && row.PS == base.PS && row.LocalBatch == base.LocalBatch && row.AccumSteps == base.AccumSteps && maps.Equal(same.Extra, full.Extra) {
			on = append(on, row)
		}
	}
	return on
}

// CommonBatch returns the local batch that most measurements of a GPU type
// and mode share, and of several that are as common the middle one: the one at
// which a figure shows most of what was measured. It is 0 if no batch is known.
func CommonBatch(m *fit.Model, gpuType string, modes ...data.Mode) float64 {
	count := map[float64]int{}
	most := 0
	for _, mode := range modes {
		for _, row := range m.Measurements(gpuType, mode) {
			count[row.LocalBatch]++
			most = max(most, count[row.LocalBatch])
		}
	}
	maps.DeleteFunc(count, func(_ float64, n int) bool { return n < most })
	common := slices.Sorted(maps.Keys(count))
	if len(common) == 0 {
		return 0
	}
	return common[(len(common)-1)/2]
}

// SpeedFigures returns the speed of a parameter-server job over workers at
// each number of ps in servers, or over ps at each number of workers, at one
// local batch: the two figures Optimus fits its models to (EuroSys'18, Fig. 9).
func SpeedFigures(p *predict.Predictor, base data.Config, workers, servers []int, overPS bool) (SpeedFigure, error) {
	fig := SpeedFigure{Title: p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s, %s samples per worker", base.GPUType, base.Mode, number(base.LocalBatch))}
	fixed, along, group := servers, workers, GroupByPS
	if overPS {
		fixed, along, group = workers, servers, GroupByWorkers
	}
	var rows []data.Measurement
	for _, row := range p.Model.Measurements(base.GPUType, base.Mode) {
		if row.LocalBatch == base.LocalBatch {
			rows = append(rows, row)
		}
	}
	measured, err := group(rows)
	if err != nil {
		return fig, err
	}
	for _, f := range fixed {
		c := SpeedCurve{Fixed: f}
		for _, m := range measured {
			if m.Fixed == f {
				c.Points = m.Points
			}
		}
		for _, x := range along {
			at := base
			at.Workers, at.PS = x, f
			if overPS {
				at.Workers, at.PS = f, x
			}
			a, err := p.At(at)
			if err != nil {
				return fig, err
			}
			c.Curve = append(c.Curve, BandOf(float64(x), a.StepTime.Per(1), a.Extrapolated))
		}
		fig.Curves = append(fig.Curves, c)
	}
	return fig, nil
}
