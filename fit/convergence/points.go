package convergence

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/quantile"
)

// curvePicker extracts steps and loss from curve points.
type curvePicker struct {
	x, y   func(data.CurvePoint) float64
	epochs bool // x counts epochs
	metric bool // y is the metric
	rising *RisingMetric
}

// pickCurve chooses the x and y that a run and its templates have in common;
// see [Fit]. epoch is the length of an epoch in steps, 0 if unknown.
func pickCurve(points []data.CurvePoint, templates [][]data.CurvePoint, initialBatch, epoch float64) curvePicker {
	all := append([][]data.CurvePoint{points}, templates...)
	inAll := func(get func(data.CurvePoint) float64) bool {
		return !slices.ContainsFunc(all, func(run []data.CurvePoint) bool {
			return !slices.ContainsFunc(run, func(p data.CurvePoint) bool { return finite(get(p)) })
		})
	}
	progress := func(p data.CurvePoint) float64 { return p.Progress }
	step := func(p data.CurvePoint) float64 { return p.Step }
	loss := func(p data.CurvePoint) float64 { return p.Loss }
	p := curvePicker{x: progress, y: loss}
	switch {
	case inAll(progress):
	case inAll(step):
		p.x = func(p data.CurvePoint) float64 {
			if finite(p.GlobalBatch) && p.GlobalBatch > 0 && initialBatch > 0 {
				return p.Step * p.GlobalBatch / initialBatch
			}
			return p.Step
		}
	default:
		p.epochs = epoch == 0
		p.x = func(p data.CurvePoint) float64 { return p.Epoch * cmp.Or(epoch, 1) }
	}
	if inAll(loss) {
		return p
	}
	p.y, p.metric = func(p data.CurvePoint) float64 { return p.Metric }, true
	// Finished runs show the direction of a metric better than a beginning.
	judge := all
	if len(templates) > 0 {
		judge = templates
	}
	p.rising = risingMetric(byRun(p.usable(slices.Concat(judge...))), p.usable(slices.Concat(all...)))
	return p
}

// usablePoint is a point with x and y.
type usablePoint struct {
	run         string
	x, y, epoch float64 // epoch NaN if not recorded
}

// usable returns the points with x and y, stably sorted by x.
func (c curvePicker) usable(points []data.CurvePoint) []usablePoint {
	var out []usablePoint
	for _, p := range points {
		if x, y := c.x(p), c.y(p); finite(x) && finite(y) && x >= 0 {
			out = append(out, usablePoint{p.Run, x, y, p.Epoch})
		}
	}
	slices.SortStableFunc(out, func(a, b usablePoint) int { return cmp.Compare(a.x, b.x) })
	return out
}

// byRun splits points by run, in order of appearance.
func byRun(points []usablePoint) (runs [][]usablePoint) {
	names, of := grouped.By(points, func(p usablePoint) string { return p.run })
	for _, name := range names {
		runs = append(runs, of[name])
	}
	return runs
}

// reach returns the definition that suits the record: [First] for a metric without several
// values per epoch, as single values of it stop a run.
func (c curvePicker) reach(points []usablePoint) Reach {
	type epoch struct {
		run   string
		epoch float64
	}
	recorded := slices.DeleteFunc(slices.Clone(points), func(p usablePoint) bool { return !finite(p.epoch) })
	epochs, _ := grouped.By(recorded, func(p usablePoint) epoch { return epoch{p.run, math.Ceil(p.epoch)} })
	if !c.metric || len(recorded) > 0 && len(recorded) >= 2*len(epochs) {
		return Smooth
	}
	return First
}

// epochSteps returns the steps of an epoch, between the first points of the first and last
// epochs of the longest run, whether epochs count from 0 or 1; of a single epoch or none what
// is given by the dataset, and if that is 0 of one point (pointwise).
func epochSteps(points []usablePoint, given float64) (steps float64, pointwise bool) {
	longest := slices.MaxFunc(byRun(points), func(a, b []usablePoint) int { return cmp.Compare(len(a), len(b)) })
	epochs := slices.DeleteFunc(slices.Clone(longest), func(p usablePoint) bool { return !finite(p.epoch) })
	if len(epochs) > 0 {
		first, final := epochs[0], epochs[len(epochs)-1].epoch
		begin := epochs[slices.IndexFunc(epochs, func(p usablePoint) bool { return p.epoch == final })]
		if final > first.epoch {
			return (begin.x - first.x) / (final - first.epoch), false
		}
	}
	if given > 0 {
		return given, false
	}
	return points[len(points)-1].x / float64(len(longest)), true
}

// risingMetric returns how to turn a metric into a loss, nil if it falls. It
// rises if the median of the last third of the runs in judge exceeds that of the
// first. The ceiling is 1 for a fraction, 100 for a percentage, otherwise as
// far above the best value as the first value is below it: the forms need
// losses above 0.
func risingMetric(judge [][]usablePoint, all []usablePoint) *RisingMetric {
	var change float64
	for _, r := range judge {
		third := max(len(r)/3, 1)
		change += medianOf(r[len(r)-third:]) - medianOf(r[:third])
	}
	if change <= 0 {
		return nil
	}
	top := slices.MaxFunc(all, func(a, b usablePoint) int { return cmp.Compare(a.y, b.y) }).y
	switch {
	case top <= 1:
		return &RisingMetric{Ceiling: 1}
	case top <= 100:
		return &RisingMetric{Ceiling: 100}
	}
	return &RisingMetric{Ceiling: 2*top - all[0].y}
}

func medianOf(points []usablePoint) float64 {
	var ys []float64
	for _, p := range points {
		ys = append(ys, p.y)
	}
	return quantile.Median(ys)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// AtInitialBatch returns the points that have steps, with Step in steps at the initial
// batch (in samples), or in epochs, as in [Fit].
func AtInitialBatch(points []data.CurvePoint, initialBatch float64) []data.CurvePoint {
	x := pickCurve(points, nil, initialBatch, 0).x
	var out []data.CurvePoint
	for _, p := range points {
		if p.Step = x(p); finite(p.Step) {
			out = append(out, p)
		}
	}
	return out
}
