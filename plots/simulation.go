package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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
		c.addDistribution(i, r)
	}
	return c, nil
}

// addDistribution adds the staircase of one policy.
func (c *Chart) addDistribution(i int, r PolicyRun) {
	jct := slices.Sorted(slices.Values(r.JCT))
	stairs := line{style: draw.LineStyle{Color: seriesColor(i), Width: curveWidth, Dashes: policyDashes(i)}}
	var done, sum float64
	for k, t := range jct {
		sum += t
		next := 100 * float64(k+1) / float64(len(jct))
		stairs.xs = append(stairs.xs, t/3600, t/3600)
		stairs.ys = append(stairs.ys, done, next)
		done = next
	}
	stairs.xs, stairs.ys = append(stairs.xs, c.Plot.X.Max), append(stairs.ys, done)
	stairs.xs, stairs.ys = thinned(stairs.xs, stairs.ys)
	c.layers = append(c.layers, stairs)
	mean := sum / float64(len(jct))
	c.legend = append(c.legend, entry{label: fmt.Sprintf("%s, mean %s", r.Policy, duration(mean)), line: &stairs.style})
}

// policyDashes tells lines without markers apart in grey print.
func policyDashes(i int) []vg.Length {
	patterns := [][]vg.Length{nil, {6, 2}, {2, 1.5}, {7, 2, 2, 2}}
	return patterns[i%len(patterns)]
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
