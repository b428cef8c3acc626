package plots

import (
	"cmp"
	"slices"

	"knee/data"
	"knee/predict"
)

// Knob is an axis of a heat map.
type Knob string

// The knobs a heat map of a model can show.
const (
	Workers    Knob = "workers"
	Servers    Knob = "ps"
	LocalBatch Knob = "local batch"
)

// HeatOf is the throughput of a model over two knobs: local batch against
// workers, or where only one batch was measured ps against workers. The
// values of the knobs are those that were measured.
func HeatOf(p *predict.Predictor, base data.Config) (HeatMap, error) {
	rows := p.Model.Measurements(base.GPUType, base.ModeOrDefault())
	vary := LocalBatch
	if lo, hi := p.Model.BatchRange(base.GPUType, base.ModeOrDefault()); !(hi > lo) {
		vary = Servers
	}
	h := HeatMap{Title: "Throughput of " + p.Model.Job(), Subtitle: base.GPUType + ", " + string(base.ModeOrDefault()),
		XLabel: string(Workers), YLabel: string(vary), Label: "throughput (samples/s)"}
	xs, ys := map[int]bool{}, map[float64]bool{}
	measured := map[[2]float64]bool{}
	for _, m := range rows {
		if vary == LocalBatch && m.PS != base.PS {
			continue
		}
		y := m.LocalBatch
		if vary == Servers {
			y = float64(m.PS)
		}
		xs[m.Workers], ys[y] = true, true
		measured[[2]float64{float64(m.Workers), y}] = true
	}
	best := -1
	for x := range xs {
		for y := range ys {
			c := base
			c.Workers = x
			if vary == Servers {
				c.PS = int(y)
			} else {
				c.LocalBatch = y
			}
			a, err := p.At(c)
			if err != nil {
				return HeatMap{}, err
			}
			at := [2]float64{float64(x), y}
			h.Cells = append(h.Cells, Cell{X: at[0], Y: at[1], Value: a.Throughput.Mean, Measured: measured[at]})
		}
	}
	slices.SortFunc(h.Cells, func(a, b Cell) int { return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X)) })
	for i, c := range h.Cells {
		if best < 0 || c.Value > h.Cells[best].Value {
			best = i
		}
	}
	if best >= 0 {
		h.Cells[best].Best = true
	}
	return h, nil
}
