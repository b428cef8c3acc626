package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"knee/data"
	"knee/predict"
)

// batch is a choice: larger batches raise the throughput and lower what each sample is
// worth (Pollux, OSDI'21, Fig. 1 and 2).
type batch struct {
	Title, Subtitle string
	Measured        []Point // samples/s over the global batch
	Throughput      []Band  // the same as predicted, X ascending
	Goodput         []Band  // samples/s at initial-batch worth, at the same X; nil if not known
	Efficiency      []Band  // statistical efficiency in per cent, at the same X; nil if not known
	Best            float64 // the global batch to mark; 0 marks none
	Note            string  // beside the mark; "best: N", or of throughput "fastest: N", if empty
}

// batchSteps is how many batches a curve is drawn through.
const batchSteps = 24

// NewBatch draws the choice of batch on the placement of base, over the local batches
// measured, at least two. It marks one with a note; if 0, [predict.Predictor.BestBatch].
func NewBatch(p *predict.Predictor, base data.Config, marked float64, note string) (*Panels, error) {
	b, err := batchOf(p, base, marked)
	b.Note = note
	return drawn(b, err)
}

func batchOf(p *predict.Predictor, base data.Config, marked float64) (batch, error) {
	lo, hi := p.Model.BatchRange(base.GPUType, base.ModeOrDefault())
	if !(hi > lo) {
		return batch{}, bad("batch", "one local batch measured", "measurements at two or more")
	}
	on := Condition{Predictor: p, Base: base}
	b := batch{Title: "Choice of batch: " + p.Model.Job(), Subtitle: fmt.Sprintf("%s, %s", on.named(), amount(float64(base.Workers), "workers"))}
	rows := on.rows(func(m data.Measurement) bool {
		return m.Workers == base.Workers && m.LocalBatch > 0 && m.AccumSteps == base.AccumSteps
	})
	var err error
	if b.Measured, err = MeasuredPoints(rows, Throughput); err != nil {
		return batch{}, err
	}
	for i, m := range rows {
		b.Measured[i].X = m.GlobalBatch()
	}
	locals := make([]float64, batchSteps)
	for i := range locals {
		locals[i] = math.Round(lo * math.Pow(hi/lo, float64(i)/(batchSteps-1)))
	}
	if marked == 0 && base.ModeOrDefault() != data.PSAsync { // where BestBatch advises none
		if advised, err := p.BestBatch(base); err == nil && advised.Config.AccumSteps == base.AccumSteps {
			marked = advised.Config.LocalBatch
		}
	}
	if base.LocalBatch = marked; marked > 0 {
		locals, b.Best = append(locals, marked), base.GlobalBatch()
	}
	slices.Sort(locals)
	for _, local := range slices.Compact(locals) {
		at := base
		at.LocalBatch = local
		a, err := p.At(at)
		if err != nil {
			return batch{}, err
		}
		x := a.Config.GlobalBatch()
		b.Throughput = append(b.Throughput, BandOf(x, a.Throughput, a.Extrapolated))
		if p.Model.NoiseScale() == nil {
			continue
		}
		b.Goodput = append(b.Goodput, BandOf(x, a.Goodput, a.Extrapolated))
		b.Efficiency = append(b.Efficiency, BandOf(x, a.Efficiency.Scale(100), a.Extrapolated))
	}
	return b, nil
}

// draw draws throughput and goodput in one panel, efficiency in the other.
func (b batch) draw() (*Panels, error) {
	rates, note := []Series{{Name: "throughput", Points: b.Measured, Curve: b.Throughput}}, "fastest: "
	if b.Goodput != nil {
		rates, note = append(rates, Series{Name: "goodput", Curve: b.Goodput}), "best: "
	}
	decisive := &rates[len(rates)-1]
	for _, at := range decisive.Curve {
		if at.X == b.Best {
			decisive.Knee = &Knee{at.X, at.Mean, cmp.Or(b.Note, note+Number(at.X))}
		}
	}
	worth := []Series{{Name: "statistical efficiency", Curve: b.Efficiency}}
	if err := checkSeries(rates, positive); err != nil {
		return nil, err
	}
	left := curvesChart("Speed", "global batch (samples)", "rate (samples/s)", rates)
	if b.Efficiency == nil {
		return newPanels(b.Title, b.Subtitle, left), nil
	}
	if err := checkSeries(worth, positive); err != nil {
		return nil, err
	}
	right := curvesChart("Worth of a sample", "global batch (samples)", "statistical efficiency (%)", worth)
	extent{0, 105}.set(&right.Plot.Y, plot.LinearScale{}, linearTicks{want: 6})
	return newPanels(b.Title, b.Subtitle, left, right), nil
}
