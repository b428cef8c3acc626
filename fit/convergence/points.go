package convergence

import (
	"maps"
	"math"
	"slices"

	"knee/data"
)

// curveRun is one run's curve: steps at the initial batch against a loss.
type curveRun struct{ x, y []float64 }

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
	p.rising = risingMetric(p.runs(slices.Concat(judge...)), p.runs(slices.Concat(all...)))
	return p
}

// runs splits curve points by run, in order of appearance, each sorted by x.
// Points without both numbers are left out.
func (c curvePicker) runs(points []data.CurvePoint) []curveRun {
	at := map[string]int{}
	var runs []curveRun
	for _, p := range points {
		x, y := c.x(p), c.y(p)
		if !finite(x) || !finite(y) || x < 0 {
			continue
		}
		i, ok := at[p.Run]
		if !ok {
			i = len(runs)
			at[p.Run] = i
			runs = append(runs, curveRun{})
		}
		runs[i].x, runs[i].y = append(runs[i].x, x), append(runs[i].y, y)
	}
	for i, r := range runs {
		runs[i].x, runs[i].y = inOrder(r.x, r.y)
	}
	return runs
}

// reach returns the meaning of reaching a target that fits the record.
func (c curvePicker) reach(points []data.CurvePoint) Reach {
	type epoch struct {
		run   string
		epoch float64
	}
	var recorded int
	epochs := map[epoch]bool{}
	for _, p := range points {
		if finite(c.x(p)) && finite(c.y(p)) && finite(p.Epoch) {
			recorded++
			epochs[epoch{p.Run, math.Ceil(p.Epoch)}] = true
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
func (c curvePicker) epochSteps(points []data.CurvePoint, last float64) float64 {
	first := map[string]map[float64]float64{} // by run and epoch, where it begins
	counts, longest := map[string]int{}, ""
	for _, p := range points {
		x := c.x(p)
		if !finite(x) || !finite(c.y(p)) || x < 0 {
			continue
		}
		if counts[p.Run]++; counts[p.Run] > counts[longest] {
			longest = p.Run
		}
		if first[p.Run] == nil {
			first[p.Run] = map[float64]float64{}
		}
		if at, ok := first[p.Run][p.Epoch]; finite(p.Epoch) && (!ok || x < at) {
			first[p.Run][p.Epoch] = x
		}
	}
	epochs := slices.Sorted(maps.Keys(first[longest]))
	switch n := len(epochs); {
	case n > 1:
		steps := first[longest][epochs[n-1]] - first[longest][epochs[0]]
		return math.Max(steps, 0) / (epochs[n-1] - epochs[0])
	case n == 1 && epochs[0] > 0:
		return last / epochs[0]
	case n == 1:
		return last
	}
	return last / float64(counts[longest])
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
func risingMetric(judge, all []curveRun) *RisingMetric {
	var early, late float64
	for _, r := range judge {
		third := max(len(r.y)/3, 1)
		for i, y := range r.y {
			if i < third {
				early += y / float64(third)
			}
			if i >= len(r.y)-third {
				late += y / float64(third)
			}
		}
	}
	if len(judge) == 0 || late <= early {
		return nil
	}
	top := math.Inf(-1)
	for _, r := range all {
		top = math.Max(top, slices.Max(r.y))
	}
	switch {
	case top <= 1:
		return &RisingMetric{Ceiling: 1}
	case top <= 100:
		return &RisingMetric{Ceiling: 100}
	}
	return &RisingMetric{Ceiling: 2*top - all[0].y[0]}
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
