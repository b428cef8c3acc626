package plots

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Stay is the time a job spent in the system: from submission to end, seconds.
type Stay struct{ From, To float64 }

// PolicyStays are the stays of all jobs under one policy.
type PolicyStays struct {
	Policy string
	Stays  []Stay
}

// Timeline describes the figure of how many jobs there are at any time under
// each policy: the backlog each builds up and works off.
type Timeline struct {
	Title, Subtitle string
	Counts          string // what is counted; empty: jobs submitted and not done
	Runs            []PolicyStays
}

// NewTimeline draws the number of jobs that are submitted and not done, over
// time. Errors name the first field that cannot be drawn.
func NewTimeline(t Timeline) (*Chart, error) {
	if len(t.Runs) == 0 {
		return nil, bad("runs", "nothing", "at least one policy")
	}
	x, y := newExtent(), newExtent()
	y.add(0)
	lines := make([]line, len(t.Runs))
	for i, r := range t.Runs {
		at := fmt.Sprintf("runs[%d]", i)
		if err := checkName(at+".policy", r.Policy); err != nil {
			return nil, err
		}
		if len(r.Stays) == 0 {
			return nil, bad(at+".stays", "nothing", "at least one job")
		}
		for k, s := range r.Stays {
			for _, v := range []float64{s.From, s.To} {
				if err := finite(fmt.Sprintf("%s.stays[%d]", at, k), v); err != nil {
					return nil, err
				}
			}
			if s.To < s.From {
				return nil, bad(fmt.Sprintf("%s.stays[%d]", at, k), fmt.Sprintf("%g to %g", s.From, s.To), "an end after the beginning")
			}
		}
		lines[i] = present(r.Stays)
		lines[i].style = draw.LineStyle{Color: seriesColor(i), Width: curveWidth, Dashes: policyDashes(i)}
		for k := range lines[i].xs {
			x.add(lines[i].xs[k])
			y.add(lines[i].ys[k])
		}
	}
	if x.hi <= x.lo {
		return nil, bad("runs", "no time between the first submission and the last end", "jobs that take time")
	}
	times := make([][]float64, len(lines))
	for i, l := range lines {
		times[i] = l.xs
	}
	if until, cut := busyPart(times); cut {
		t.Subtitle = cutNote(t.Subtitle, until, x.hi)
		x.hi = until
	}
	c := newChart(t.Title, t.Subtitle, "time since the first submission (h)", orElse(t.Counts, "jobs submitted and not done"))
	extent{x.lo, x.hi}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 7})
	extent{0, y.hi * 1.05}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	for i, r := range t.Runs {
		c.legend = append(c.legend, entry{label: fmt.Sprintf("%s, at most %g", r.Policy, slices.Max(lines[i].ys)), line: &lines[i].style})
		lines[i].xs, lines[i].ys = thinned(lines[i].xs, lines[i].ys)
		c.marks = append(c.marks, lines[i])
	}
	return c, nil
}

// present is the staircase of how many stays go on at any time, in hours from
// the first.
func present(stays []Stay) line {
	type event struct{ at, delta float64 }
	first := stays[0].From
	var events []event
	for _, s := range stays {
		first = min(first, s.From)
		events = append(events, event{s.From, 1}, event{s.To, -1})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.delta, b.delta)) })
	var l line
	var n float64
	for _, e := range events {
		at := (e.at - first) / 3600
		l.xs, l.ys = append(l.xs, at, at), append(l.ys, n, n+e.delta)
		n += e.delta
	}
	return l
}
