package plots

import (
	"fmt"
	"slices"

	"knee/data"
	"knee/predict"
)

// LayoutSeries is the throughput over workers where the layout follows them:
// at each number of workers that of the fastest layout that fits, at one
// global batch, with the fastest measured at that batch. Sizes at which none
// fits are left out; layouts names the layout of each size.
func LayoutSeries(p *predict.Predictor, q predict.LayoutQuestion, workers []int) (s Series, layouts []string, err error) {
	s.Name = "fastest layout at each size"
	for _, k := range workers {
		q.Workers = k
		all, err := p.Layouts(q)
		if err != nil {
			continue // none fits, or none divides the batch
		}
		best := all[0]
		s.Curve = append(s.Curve, BandOf(float64(k), best.Throughput, best.Extrapolated))
		layouts = append(layouts, fmt.Sprintf("%d: tp %d, pp %d, dp %d", k, max(best.Config.TP, 1), max(best.Config.PP, 1), best.Config.Replicas()))
	}
	if len(s.Curve) == 0 {
		q.Workers = workers[len(workers)-1]
		_, err := p.Layouts(q)
		return s, nil, err
	}
	batch := p.LayoutBatch(q)
	fastest := map[int]data.Measurement{}
	for _, m := range p.Model.Layouts(q.GPUType) {
		if f, ok := fastest[m.Workers]; m.GlobalBatch() == batch && (!ok || m.StepTime < f.StepTime) {
			fastest[m.Workers] = m
		}
	}
	var measured []data.Measurement
	for _, m := range fastest {
		measured = append(measured, m)
	}
	slices.SortFunc(measured, func(a, b data.Measurement) int { return a.Workers - b.Workers })
	s.Points, err = MeasuredPoints(measured, Throughput)
	return s, layouts, err
}

// LayoutHeat is the throughput over the degrees of tensor and pipeline
// parallelism of one number of workers, with the best micro-batch, sharding and
// recomputation for each pair; pairs that do not fit in memory are crossed.
func LayoutHeat(p *predict.Predictor, q predict.LayoutQuestion) (HeatMap, error) {
	all, err := p.Layouts(q)
	if err != nil {
		return HeatMap{}, err
	}
	h := HeatMap{Title: "Layouts of " + p.Model.Job(), Subtitle: fmt.Sprintf("%d × %s, %g samples per step", q.Workers, q.GPUType, p.LayoutBatch(q)),
		XLabel: "tensor-parallel degree", YLabel: "pipeline stages", Label: "samples/s at the expected step time"}
	measured, seen := map[[2]float64]bool{}, map[[2]float64]bool{}
	for _, m := range p.Model.Layouts(q.GPUType) {
		if m.Workers == q.Workers {
			measured[[2]float64{float64(max(m.TP, 1)), float64(max(m.PP, 1))}] = true
		}
	}
	for i, a := range all {
		at := [2]float64{float64(max(a.Config.TP, 1)), float64(max(a.Config.PP, 1))}
		if !seen[at] { // the fastest come first
			seen[at] = true
			h.Cells = append(h.Cells, Cell{X: at[0], Y: at[1], Value: p.LayoutBatch(q) / a.Expected, Measured: measured[at], Best: i == 0})
		}
	}
	least := q
	least.LeastFits = -1
	everything, err := p.Layouts(least)
	for _, a := range everything {
		at := [2]float64{float64(max(a.Config.TP, 1)), float64(max(a.Config.PP, 1))}
		if !seen[at] {
			seen[at] = true
			h.Cells = append(h.Cells, Cell{X: at[0], Y: at[1], Empty: true, Failed: true})
		}
	}
	return h, err
}
