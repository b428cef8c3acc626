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

// Occupied is what one policy has in use from a time on.
type Occupied struct {
	At      float64 // s
	GPUs    float64
	Waiting float64 // jobs that hold no GPU
}

// PolicyOccupancy is what one policy has in use over time.
type PolicyOccupancy struct {
	Policy  string
	GPUs    float64    // of the cluster
	History []Occupied // At ascending; the last one ends it
}

// Occupancy describes the figure of how full each policy keeps a cluster, and
// who waits meanwhile.
type Occupancy struct {
	Title, Subtitle string
	Runs            []PolicyOccupancy
}

// mostPolicies is how many policies one figure compares.
const mostPolicies = 12

// mostSlices is into how many equal times a longer history is divided; of each
// the mean is drawn. It is about two for a point of the figure.
const mostSlices = 600

// OccupancyOf describes what runs of one workload had in use.
func OccupancyOf(runs []simulate.Used, title, subtitle string) Occupancy {
	o := Occupancy{Title: title, Subtitle: subtitle}
	for _, r := range runs {
		p := PolicyOccupancy{Policy: r.Policy, GPUs: float64(r.GPUs)}
		for _, u := range r.History {
			p.History = append(p.History, Occupied{At: u.At, GPUs: float64(u.GPUs), Waiting: float64(u.Waiting)})
		}
		o.Runs = append(o.Runs, p)
	}
	return o
}

// NewOccupancy returns the figure: one row for each policy with the GPUs in use,
// above the jobs that wait. Histories of more changes than can be told apart are
// drawn as means over equal times. Errors name the first field that cannot be
// drawn.
func NewOccupancy(o Occupancy) (*Panels, error) {
	if len(o.Runs) == 0 || len(o.Runs) > mostPolicies {
		return nil, bad("runs", fmt.Sprint(len(o.Runs)), fmt.Sprintf("1 to %d policies", mostPolicies))
	}
	for i, r := range o.Runs {
		if err := r.check(fmt.Sprintf("runs[%d]", i)); err != nil {
			return nil, err
		}
	}
	begin, end := o.focus()
	f := &Panels{Title: o.Title, Subtitle: o.Subtitle, Rows: true}
	queue := newChart("", "", "time since the first submission (h)", "jobs waiting")
	queue.Height = DefaultHeight * 0.62
	most := 1.0
	x := extent{0, (end - begin) / 3600}
	for i, r := range o.Runs {
		r := r.until(end)
		xs, ys := r.sliced(func(o Occupied) float64 { return o.GPUs }, begin, end)
		f.Charts = append(f.Charts, usageRow(i, r, x, xs, ys))
		xs, ys = r.sliced(func(o Occupied) float64 { return o.Waiting }, begin, end)
		l := line{style: draw.LineStyle{Color: seriesColor(i), Width: curveWidth, Dashes: policyDashes(i)}}
		l.xs, l.ys = stairs(xs, ys)
		longest := r.longest()
		most = math.Max(most, longest)
		queue.marks = append(queue.marks, l)
		queue.legend = append(queue.legend, entry{label: fmt.Sprintf("%s, at most %s", r.Policy, number(longest)), line: &l.style})
	}
	x.set(&queue.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	extent{0, 1.08 * most}.set(&queue.Plot.Y, plot.LinearScale{}, linearTicks{want: 4, whole: true})
	f.Charts = append(f.Charts, queue)
	return f, nil
}

// usageRow draws the GPUs in use under one policy.
func usageRow(i int, r PolicyOccupancy, x extent, xs, ys []float64) *Chart {
	c := newChart("", fmt.Sprintf("%s: %.0f %% of %s GPUs in use", r.Policy, 100*r.mean(), number(r.GPUs)), "", "")
	c.Height = rowHeightOfUsage
	x.set(&c.Plot.X, plot.LinearScale{}, plot.ConstantTicks{})
	extent{0, r.GPUs}.set(&c.Plot.Y, plot.LinearScale{}, plot.ConstantTicks(labelled([]float64{0, r.GPUs}, 0)))
	px, py := stairs(xs, ys)
	area := ribbon{fill: fade(seriesColor(i), 0.55)}
	for k := range px {
		area.curve = append(area.curve, Band{X: px[k], Mean: py[k], Hi: py[k]})
	}
	c.marks = []mark{zone{x.lo, x.hi, shadeColor}, area, line{px, py, draw.LineStyle{Color: seriesColor(i), Width: 0.7}}}
	for k := range mostSpots {
		t := xs[len(xs)-1] * (float64(k) + 0.5) / mostSpots
		at, found := slices.BinarySearch(xs, t)
		if !found {
			at--
		}
		if at >= 0 {
			c.spots = append(c.spots, spot{t, ys[at], fmt.Sprintf("%s\nafter %s h: %s of %s GPUs in use", r.Policy, number(t), number(ys[at]), number(r.GPUs))})
		}
	}
	return c
}

// rowHeightOfUsage is the height of the row of one policy.
const rowHeightOfUsage vg.Length = 80

// mostSpots is how many places of a row say something.
const mostSpots = 60

// focus returns from when to when the figure goes, in seconds, and says in the
// subtitle if that is not all.
func (o *Occupancy) focus() (begin, end float64) {
	begin, end = math.Inf(1), math.Inf(-1)
	for _, r := range o.Runs {
		begin, end = math.Min(begin, r.History[0].At), math.Max(end, r.History[len(r.History)-1].At)
	}
	times := make([][]float64, len(o.Runs))
	for i, r := range o.Runs {
		for _, x := range r.History {
			times[i] = append(times[i], x.At-begin)
		}
	}
	if until, cut := busyPart(times); cut {
		o.Subtitle = cutNote(o.Subtitle, until/3600, (end-begin)/3600)
		return begin, begin + until
	}
	return begin, end
}

// until returns the run up to a time.
func (r PolicyOccupancy) until(end float64) PolicyOccupancy {
	n := len(r.History)
	for n > 1 && r.History[n-1].At > end {
		n--
	}
	if n == len(r.History) {
		return r
	}
	last := r.History[n-1]
	last.At = end
	r.History = append(slices.Clone(r.History[:n]), last)
	return r
}

func (r PolicyOccupancy) check(at string) error {
	if err := checkName(at+".policy", r.Policy); err != nil {
		return err
	}
	if err := positive(at+".gpus", r.GPUs); err != nil {
		return err
	}
	if len(r.History) < 2 {
		return bad(at+".history", fmt.Sprintf("%d times", len(r.History)), "a beginning and an end at least")
	}
	for k, o := range r.History {
		at := fmt.Sprintf("%s.history[%d]", at, k)
		for field, v := range map[string]float64{".at": o.At, ".gpus": o.GPUs, ".waiting": o.Waiting} {
			if err := finite(at+field, v); err != nil {
				return err
			}
		}
		switch {
		case o.GPUs < 0 || o.GPUs > r.GPUs:
			return bad(at+".gpus", show(o.GPUs), "0 to "+show(r.GPUs))
		case o.Waiting < 0:
			return bad(at+".waiting", show(o.Waiting), "a number ≥ 0")
		case k > 0 && o.At <= r.History[k-1].At:
			return bad(at+".at", show(o.At), "more than "+show(r.History[k-1].At))
		}
	}
	return nil
}

// mean is the share of the GPUs in use from the beginning to the end.
func (r PolicyOccupancy) mean() float64 {
	var sum float64
	for k, o := range r.History[1:] {
		sum += r.History[k].GPUs * (o.At - r.History[k].At)
	}
	return sum / r.GPUs / (r.History[len(r.History)-1].At - r.History[0].At)
}

// longest is the longest queue.
func (r PolicyOccupancy) longest() float64 {
	var most float64
	for _, o := range r.History {
		most = math.Max(most, o.Waiting)
	}
	return most
}

// sliced returns one quantity of the history as steps, in hours from begin:
// every change, or the means of equal times from begin to end if there are
// more changes than times.
func (r PolicyOccupancy) sliced(of func(Occupied) float64, begin, end float64) (xs, ys []float64) {
	if len(r.History) <= mostSlices {
		for _, o := range r.History {
			xs, ys = append(xs, (o.At-begin)/3600), append(ys, of(o))
		}
		return xs, ys
	}
	step := (end - begin) / mostSlices
	xs, ys = make([]float64, mostSlices+1), make([]float64, mostSlices+1)
	for k := range xs {
		xs[k] = float64(k) * step / 3600
	}
	for k, o := range r.History[1:] {
		from, to, v := r.History[k].At-begin, o.At-begin, of(r.History[k])
		for s := int(from / step); s < mostSlices && float64(s)*step < to; s++ {
			ys[s] += v * (math.Min(to, float64(s+1)*step) - math.Max(from, float64(s)*step)) / step
		}
	}
	return xs, ys
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
