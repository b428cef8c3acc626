package plots

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"knee/allocate/simulate"
)

// NewSimulation draws the share of jobs that are done within a time, one line for
// each replay of a workload, with its mean in the legend. Time is logarithmic, as
// jobs take minutes to days. Errors name the first outcome that cannot be drawn;
// completion times must be positive.
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
	c := newChart(title, fmt.Sprintf("%s, %d jobs", runs[0].Workload, len(runs[0].Outcomes)), "job completion time (h)", "jobs done (%)")
	c.xGrid = true
	x.padLog(0.03, 0.03).set(&c.Plot.X, plot.LogScale{}, decadeTicks{})
	extent{0, 103}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	for i, r := range runs {
		times := make([]float64, len(r.Outcomes))
		for k, o := range r.Outcomes {
			times[k] = o.JCT()
		}
		slices.Sort(times)
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
	c.explain(entry{label: label, line: &sty})
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
