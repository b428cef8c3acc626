package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/allocate/simulate"
	"knee/internal/list"
	"knee/internal/quantile"
)

// NewSimulation draws the share of jobs that are done within a time, a line for each replay
// of a workload. Time is logarithmic, as jobs take minutes to days, so completion times
// must be positive.
func NewSimulation(title string, runs []simulate.Replayed) (*Chart, error) {
	if len(runs) == 0 {
		return nil, bad("runs", "nothing", "at least one policy")
	}
	x := newExtent()
	for i, r := range runs {
		at := fmt.Sprintf("runs[%d]", i)
		err := checkName(at+".policy", r.Policy)
		if len(r.Outcomes) == 0 {
			err = cmp.Or(err, bad(at+".outcomes", "nothing", "at least one job"))
		}
		if err != nil {
			return nil, err
		}
		for k, o := range r.Outcomes {
			if err := positive(fmt.Sprintf("%s.outcomes[%d].jct", at, k), o.JCT()); err != nil {
				return nil, err
			}
			x.add(o.JCT() / 3600)
		}
	}
	c := newChart(title, joinNamed([]string{runs[0].Workload, english.Plural(len(runs[0].Outcomes), "job", "")}), "job completion time (h)", "jobs done (%)")
	c.xGrid = true
	x.padLog(0.03, 0.03).set(&c.Plot.X, plot.LogScale{}, decadeTicks{})
	extent{0, 103}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	for i, r := range runs {
		times := slices.Sorted(slices.Values(list.Map(r.Outcomes, simulate.Outcome.JCT)))
		xs, ys := []float64{c.Plot.X.Min}, []float64{0}
		for k, t := range times {
			xs, ys = append(xs, t/3600), append(ys, 100*float64(k+1)/float64(len(times)))
		}
		c.addStairs(i, fmt.Sprintf("%s, mean %s", r.Policy, Duration(stat.Mean(times, nil))), append(xs, c.Plot.X.Max), append(ys, 100))
	}
	return c, nil
}

// addStairs adds the line of one policy: from each x on, y holds.
func (c *Chart) addStairs(i int, label string, xs, ys []float64) {
	sty := solid(seriesColor(i))
	// In grey print lines without markers are distinguished by their dashes.
	sty.Dashes = [][]vg.Length{nil, {6, 2}, {2, 1.5}, {7, 2, 2, 2}}[i%4]
	xs, ys = thinned(stairs(xs, ys))
	c.add(polyline(sty, xs, ys))
	c.explain(entry{label: label, line: sty})
}

// stairs turns steps into the points of a staircase.
func stairs(xs, ys []float64) (px, py []float64) {
	for i, x := range xs {
		if i > 0 {
			px, py = append(px, x), append(py, ys[i-1])
		}
		px, py = append(px, x), append(py, ys[i])
	}
	return px, py
}

// mostPolicies is how many policies one figure compares.
const mostPolicies = 12

// NewOccupancy draws a row for each policy with the GPUs in use under one workload,
// above the jobs that wait. Errors name the first field that cannot be drawn.
func NewOccupancy(title string, runs []simulate.Replayed) (*Panels, error) {
	if len(runs) == 0 || len(runs) > mostPolicies {
		return nil, bad("runs", fmt.Sprint(len(runs)), fmt.Sprintf("1 to %d policies", mostPolicies))
	}
	for i, r := range runs {
		at := fmt.Sprintf("runs[%d]", i)
		err := cmp.Or(checkName(at+".policy", r.Policy), check(at, r, finite))
		if len(r.History) < 2 || r.GPUs < 1 {
			err = cmp.Or(err, bad(at+".history", fmt.Sprintf("%d times on %d GPUs", len(r.History), r.GPUs), "a beginning and an end at least, and a GPU"))
		}
		if err != nil {
			return nil, err
		}
	}
	begin, end, cut := shown(runs)
	queue := newChart("", "", "time since the first submission (h)", "jobs waiting")
	queue.Height = DefaultHeight * 0.62
	f := &Panels{Title: title, Subtitle: joinNamed([]string{runs[0].Workload, cut}), Rows: true}
	most, x := 1.0, extent{0, (end - begin) / 3600}
	for i, r := range runs {
		times := list.Map(r.History, func(u simulate.Usage) float64 { return (u.At - begin) / 3600 })
		used := list.Map(r.History, func(u simulate.Usage) float64 { return float64(u.GPUs) })
		waiting := list.Map(r.History, func(u simulate.Usage) float64 { return float64(u.Waiting) })
		f.Charts = append(f.Charts, usageRow(i, r, x, times, used))
		longest := slices.Max(waiting)
		most = math.Max(most, longest)
		queue.addStairs(i, fmt.Sprintf("%s, at most %s", r.Policy, Number(longest)), times, waiting)
	}
	x.set(&queue.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	extent{0, 1.08 * most}.set(&queue.Plot.Y, plot.LinearScale{}, linearTicks{want: 4, whole: true})
	f.Charts = append(f.Charts, queue)
	return f, nil
}

// usageHeight is the height of the row of one policy.
const usageHeight vg.Length = 80

// usageRow draws the GPUs in use under one policy, which change at times.
func usageRow(i int, r simulate.Replayed, x extent, times, used []float64) *Chart {
	c := newChart("", fmt.Sprintf("%s: %.0f %% of %d GPUs in use", r.Policy, 100*meanUsed(r), r.GPUs), "", "")
	c.Height = usageHeight
	x.set(&c.Plot.X, plot.LinearScale{}, plot.ConstantTicks{})
	extent{0, float64(r.GPUs)}.set(&c.Plot.Y, plot.LinearScale{}, plot.ConstantTicks(labelled([]float64{0, float64(r.GPUs)}, 0)))
	px, py := thinned(stairs(times, used))
	area := make([]Band, len(px))
	for k := range px {
		area[k] = Band{X: px[k], Mean: py[k], Hi: py[k]}
	}
	c.background = []layer{zone(shadeColor, x.lo, x.hi, math.Inf(1))}
	c.add(ribbon(area, fade(seriesColor(i), 0.55)), polyline(draw.LineStyle{Color: seriesColor(i), Width: 0.7}, px, py))
	return c
}

// shown returns begin and end of the axis in seconds. The last hundredth of the changes is
// cut off, and cut says so, if it would take most of the axis.
func shown(runs []simulate.Replayed) (begin, end float64, cut string) {
	begin = slices.Min(list.Map(runs, func(r simulate.Replayed) float64 { return r.History[0].At }))
	end = slices.Max(list.Map(runs, func(r simulate.Replayed) float64 { return r.History[len(r.History)-1].At }))
	busy := 0.0
	for _, r := range runs {
		times := list.Map(r.History, func(u simulate.Usage) float64 { return u.At - begin })
		busy = math.Max(busy, quantile.Sorted(times, 0.99))
	}
	const most = 2.5
	if !(busy > 0) || end-begin <= most*busy {
		return begin, end, ""
	}
	busy *= 1.25
	return begin, begin + busy, fmt.Sprintf("the rest, from %s h to %s h, is not shown", Number(busy/3600), Number((end-begin)/3600))
}

// meanUsed is the share of the GPUs in use from the beginning to the end.
func meanUsed(r simulate.Replayed) float64 {
	var sum float64
	for k, u := range r.History[1:] {
		sum += float64(r.History[k].GPUs) * (u.At - r.History[k].At)
	}
	return sum / float64(r.GPUs) / (r.History[len(r.History)-1].At - r.History[0].At)
}
