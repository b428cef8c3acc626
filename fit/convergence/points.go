package convergence

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/data"
)

// curvePicker picks steps and loss out of curve points.
type curvePicker struct {
	x, y   func(data.CurvePoint) float64
	metric bool // y is the metric
	rising *RisingMetric
}

// pickCurve decides what to read off the points of a run and of the finished
// runs it is compared with: the same x and y of all, see [Fit].
func pickCurve(points []data.CurvePoint, templates [][]data.CurvePoint, initialBatch float64) curvePicker {
	all := append([][]data.CurvePoint{points}, templates...)
	inAll := func(get func(data.CurvePoint) float64) bool {
		return !slices.ContainsFunc(all, func(run []data.CurvePoint) bool {
			return !slices.ContainsFunc(run, func(p data.CurvePoint) bool { return finite(get(p)) })
		})
	}
	loss := func(p data.CurvePoint) float64 { return p.Loss }
	p := curvePicker{x: curveX(inAll, initialBatch), y: loss}
	if inAll(loss) {
		return p
	}
	p.y, p.metric = func(p data.CurvePoint) float64 { return p.Metric }, true
	// A finished run shows better than the beginning of one which way the
	// metric goes.
	judge := all
	if len(templates) > 0 {
		judge = templates
	}
	p.rising = risingMetric(byRun(p.usable(slices.Concat(judge...))), p.usable(slices.Concat(all...)))
	return p
}

// usablePoint is a point with both numbers.
type usablePoint struct {
	run         string
	x, y, epoch float64 // epoch NaN if not recorded
}

// usable returns the points with both numbers, in order of x, ties as they come.
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
func byRun(points []usablePoint) [][]usablePoint {
	at := map[string]int{}
	var runs [][]usablePoint
	for _, p := range points {
		if _, ok := at[p.run]; !ok {
			at[p.run] = len(runs)
			runs = append(runs, nil)
		}
		runs[at[p.run]] = append(runs[at[p.run]], p)
	}
	return runs
}

// reach returns the meaning of reaching a target that fits the record.
func (c curvePicker) reach(points []usablePoint) Reach {
	type epoch struct {
		run   string
		epoch float64
	}
	recorded, epochs := 0, map[epoch]bool{}
	for _, p := range points {
		if finite(p.epoch) {
			recorded++
			epochs[epoch{p.run, math.Ceil(p.epoch)}] = true
		}
	}
	if several := recorded >= 2*len(epochs); recorded > 0 && several || recorded == 0 && !c.metric {
		return Smooth
	}
	return First
}

// epochSteps returns the length of an epoch in steps: from where the first
// epoch of the longest run begins to be recorded to where the last does, so
// that it does not matter whether epochs are counted from 0 or from 1. Where
// no epochs are recorded a point counts as one.
func epochSteps(points []usablePoint) float64 {
	last := points[len(points)-1].x
	longest := slices.MaxFunc(byRun(points), func(a, b []usablePoint) int { return cmp.Compare(len(a), len(b)) })
	begins := map[float64]float64{} // by epoch
	for _, p := range slices.Backward(longest) {
		if finite(p.epoch) {
			begins[p.epoch] = p.x
		}
	}
	epochs := slices.Sorted(maps.Keys(begins))
	switch n := len(epochs); {
	case n > 1:
		return math.Max(begins[epochs[n-1]]-begins[epochs[0]], 0) / (epochs[n-1] - epochs[0])
	case n == 1:
		return last / math.Max(epochs[0], 1)
	}
	return last / float64(len(longest))
}

// curveX returns which number of a point counts steps at the initial batch,
// the same for all points: the first that has says is recorded.
func curveX(has func(func(data.CurvePoint) float64) bool, initialBatch float64) func(data.CurvePoint) float64 {
	progress := func(p data.CurvePoint) float64 { return p.Progress }
	step := func(p data.CurvePoint) float64 { return p.Step }
	switch {
	case has(progress):
		return progress
	case has(step):
		return func(p data.CurvePoint) float64 {
			if finite(p.GlobalBatch) && p.GlobalBatch > 0 && initialBatch > 0 {
				return p.Step * p.GlobalBatch / initialBatch
			}
			return p.Step
		}
	}
	return func(p data.CurvePoint) float64 { return p.Epoch }
}

// risingMetric says how to turn a metric into a loss, nil if it falls.
// Whether it rises is decided by the means of the first and last third of
// the runs to judge by. The ceiling is 1 for a fraction, 100 for a
// percentage, otherwise as far above the best of any run as the first value
// is below it: the published forms are of losses above 0.
func risingMetric(judge [][]usablePoint, all []usablePoint) *RisingMetric {
	var early, late float64
	for _, r := range judge {
		third := max(len(r)/3, 1)
		for i := range third {
			early += r[i].y / float64(third)
			late += r[len(r)-1-i].y / float64(third)
		}
	}
	if late <= early {
		return nil
	}
	top := math.Inf(-1)
	for _, p := range all {
		top = math.Max(top, p.y)
	}
	switch {
	case top <= 1:
		return &RisingMetric{Ceiling: 1}
	case top <= 100:
		return &RisingMetric{Ceiling: 100}
	}
	return &RisingMetric{Ceiling: 2*top - all[0].y}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// AtInitialBatch returns the points of training curves with Step counting
// steps at the initial batch, as [Fit] counts them: points that cannot be
// placed are left out.
func AtInitialBatch(points []data.CurvePoint, initialBatch float64) []data.CurvePoint {
	x := pickCurve(points, nil, initialBatch).x
	var out []data.CurvePoint
	for _, p := range points {
		if p.Step = x(p); finite(p.Step) {
			out = append(out, p)
		}
	}
	return out
}
