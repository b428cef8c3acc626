package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/allocate/simulate"
	"knee/internal/quantile"
)

// Occupancy describes the GPUs in use and the jobs that wait under each policy.
type Occupancy struct {
	Title, Subtitle string
	Runs            []simulate.Used // of one workload
}

// mostPolicies is how many policies one figure compares.
const mostPolicies = 12

// NewOccupancy returns the figure: one row for each policy with the GPUs in use,
// above the jobs that wait. Errors name the first field that cannot be drawn.
func NewOccupancy(o Occupancy) (*Panels, error) {
	if len(o.Runs) == 0 || len(o.Runs) > mostPolicies {
		return nil, bad("runs", fmt.Sprint(len(o.Runs)), fmt.Sprintf("1 to %d policies", mostPolicies))
	}
	for i, r := range o.Runs {
		if err := checkUsed(fmt.Sprintf("runs[%d]", i), r); err != nil {
			return nil, err
		}
	}
	begin, end := o.shown()
	queue := newChart("", "", "time since the first submission (h)", "jobs waiting")
	queue.Height = DefaultHeight * 0.62
	f := &Panels{Title: o.Title, Subtitle: o.Subtitle, Rows: true}
	most, x := 1.0, extent{0, (end - begin) / 3600}
	for i, r := range o.Runs {
		r.History = until(r.History, end)
		var times, used, waiting []float64
		for _, u := range r.History {
			times = append(times, (u.At-begin)/3600)
			used, waiting = append(used, float64(u.GPUs)), append(waiting, float64(u.Waiting))
		}
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
func usageRow(i int, r simulate.Used, x extent, times, used []float64) *Chart {
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

// shown returns the begin and the end of the axis in seconds. The last hundredth of
// the changes, such as a single very long job, is cut off if it would take most of
// the axis, and the subtitle says so.
func (o *Occupancy) shown() (begin, end float64) {
	begin, end = math.Inf(1), math.Inf(-1)
	for _, r := range o.Runs {
		begin, end = math.Min(begin, r.History[0].At), math.Max(end, r.History[len(r.History)-1].At)
	}
	busy := 0.0
	for _, r := range o.Runs {
		times := make([]float64, len(r.History))
		for i, u := range r.History {
			times[i] = u.At - begin
		}
		busy = math.Max(busy, quantile.Sorted(times, 0.99))
	}
	const most = 2.5
	if !(busy > 0) || end-begin <= most*busy {
		return begin, end
	}
	busy *= 1.25
	o.Subtitle = joinNamed([]string{o.Subtitle, fmt.Sprintf("the rest, from %s h to %s h, is not shown", Number(busy/3600), Number((end-begin)/3600))})
	return begin, begin + busy
}

// until returns the history up to a time.
func until(history []simulate.Usage, end float64) []simulate.Usage {
	n := len(history)
	for n > 1 && history[n-1].At > end {
		n--
	}
	if n == len(history) {
		return history
	}
	last := history[n-1]
	last.At = end
	return append(slices.Clone(history[:n]), last)
}

func checkUsed(at string, r simulate.Used) error {
	if err := checkName(at+".policy", r.Policy); err != nil {
		return err
	}
	if len(r.History) < 2 || r.GPUs < 1 {
		return bad(at+".history", fmt.Sprintf("%d times on %d GPUs", len(r.History), r.GPUs), "a beginning and an end at least, and a GPU")
	}
	for k, u := range r.History {
		at := fmt.Sprintf("%s.history[%d]", at, k)
		if err := finite(at+".at", u.At); err != nil {
			return err
		}
		switch {
		case u.GPUs < 0 || u.GPUs > r.GPUs:
			return bad(at+".gpus", fmt.Sprint(u.GPUs), fmt.Sprintf("0 to %d", r.GPUs))
		case u.Waiting < 0:
			return bad(at+".waiting", fmt.Sprint(u.Waiting), "a number ≥ 0")
		case k > 0 && u.At <= r.History[k-1].At:
			return bad(at+".at", show(u.At), "more than "+show(r.History[k-1].At))
		}
	}
	return nil
}

// meanUsed is the share of the GPUs in use from the beginning to the end.
func meanUsed(r simulate.Used) float64 {
	var sum float64
	for k, u := range r.History[1:] {
		sum += float64(r.History[k].GPUs) * (u.At - r.History[k].At)
	}
	return sum / float64(r.GPUs) / (r.History[len(r.History)-1].At - r.History[0].At)
}
