package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"knee/allocate/simulate"
)

// PolicyRun is the outcome of one policy on one workload.
type PolicyRun struct {
	Policy string
	JCT    []float64 // job completion times in seconds, in any order
}

// Simulation describes the figure that compares policies: the share of jobs
// that are done within a time.
type Simulation struct {
	Title, Subtitle string
	Runs            []PolicyRun
}

// SimulationOf describes replays of one workload.
func SimulationOf(runs []simulate.Replayed) Simulation {
	s := Simulation{Title: "Job completion times"}
	for _, r := range runs {
		s.Subtitle = fmt.Sprintf("%s, %d jobs", r.Workload, len(r.Outcomes))
		p := PolicyRun{Policy: r.Policy}
		for _, o := range r.Outcomes {
			p.JCT = append(p.JCT, o.JCT())
		}
		s.Runs = append(s.Runs, p)
	}
	return s
}

// NewSimulation draws the cumulative distribution of the JCT for each
// policy, on a logarithmic axis as completion times span minutes to days.
// The legend gives each policy's mean. Errors name the first field that
// cannot be drawn; times must be positive.
func NewSimulation(s Simulation) (*Chart, error) {
	if len(s.Runs) == 0 {
		return nil, bad("runs", "nothing", "at least one policy")
	}
	x := newExtent()
	for i, r := range s.Runs {
		at := fmt.Sprintf("runs[%d]", i)
		if err := checkName(at+".policy", r.Policy); err != nil {
			return nil, err
		}
		if len(r.JCT) == 0 {
			return nil, bad(at+".jct", "nothing", "the completion time of at least one job")
		}
		for k, t := range r.JCT {
			if err := positive(fmt.Sprintf("%s.jct[%d]", at, k), t); err != nil {
				return nil, err
			}
			x.add(t / 3600)
		}
	}
	c := newChart(s.Title, s.Subtitle, "job completion time (h)", "jobs done (%)")
	c.xGrid = true
	x.padLog(0.03, 0.03).set(&c.Plot.X, plot.LogScale{}, decadeTicks{})
	extent{0, 103}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	for i, r := range s.Runs {
		xs, ys, sum := []float64{c.Plot.X.Min}, []float64{0}, 0.0
		for k, t := range slices.Sorted(slices.Values(r.JCT)) {
			sum += t
			xs, ys = append(xs, t/3600), append(ys, 100*float64(k+1)/float64(len(r.JCT)))
		}
		c.addStairs(i, fmt.Sprintf("%s, mean %s", r.Policy, duration(sum/float64(len(r.JCT)))), append(xs, c.Plot.X.Max), append(ys, 100))
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

// duration writes seconds in the unit that keeps them short.
func duration(s float64) string {
	switch {
	case s >= 3600:
		return number(math.Round(s/36)/100) + " h"
	case s >= 60:
		return number(s/60) + " min"
	}
	return number(s) + " s"
}
