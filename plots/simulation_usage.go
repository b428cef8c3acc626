package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

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

// occupancyFigure is an [Occupancy] that has been checked: one strip per
// policy above a chart of the jobs that wait, on one time axis.
type occupancyFigure struct {
	Occupancy
	strips []strip
	queue  *Chart
}

// strip is the GPUs in use under one policy, in hours from the beginning.
type strip struct {
	label  string
	xs, ys []float64 // each y holds until the next x
	gpus   float64
}

// The measures of a strip, in points.
const (
	stripHeight vg.Length = 44
	stripGap    vg.Length = 22 // above a strip, for its label
)

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

// NewOccupancy returns the figure. Histories of more changes than can be told
// apart are drawn as means over equal times. Errors name the first field that
// cannot be drawn.
func NewOccupancy(o Occupancy) (Figure, error) {
	if len(o.Runs) == 0 || len(o.Runs) > mostPolicies {
		return nil, bad("runs", fmt.Sprint(len(o.Runs)), fmt.Sprintf("1 to %d policies", mostPolicies))
	}
	for i, r := range o.Runs {
		if err := r.check(fmt.Sprintf("runs[%d]", i)); err != nil {
			return nil, err
		}
	}
	begin, end := o.focus()
	f := &occupancyFigure{Occupancy: o, queue: newChart("", "", "time since the first submission (h)", "jobs waiting")}
	f.queue.Height = DefaultHeight * 0.62
	most := 1.0
	x := extent{0, (end - begin) / 3600}
	for i, r := range o.Runs {
		r := r.until(end)
		label := fmt.Sprintf("%s: %.0f %% of %s GPUs in use", r.Policy, 100*r.mean(), number(r.GPUs))
		xs, ys := r.sliced(func(o Occupied) float64 { return o.GPUs }, begin, end)
		f.strips = append(f.strips, strip{label: label, xs: xs, ys: ys, gpus: r.GPUs})
		xs, ys = r.sliced(func(o Occupied) float64 { return o.Waiting }, begin, end)
		l := line{style: draw.LineStyle{Color: seriesColor(i), Width: curveWidth, Dashes: policyDashes(i)}}
		l.xs, l.ys = stairs(xs, ys)
		longest := r.longest()
		most = math.Max(most, longest)
		f.queue.marks = append(f.queue.marks, l)
		f.queue.legend = append(f.queue.legend, entry{label: fmt.Sprintf("%s, at most %s", r.Policy, number(longest)), line: &l.style})
	}
	x.set(&f.queue.Plot.X, plot.LinearScale{}, linearTicks{want: 8})
	extent{0, 1.08 * most}.set(&f.queue.Plot.Y, plot.LinearScale{}, linearTicks{want: 4, whole: true})
	return f, nil
}

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

// Size implements [Figure].
func (f *occupancyFigure) Size() (width, height vg.Length) {
	width, height = f.queue.Size()
	return width, height + f.above(width)
}

// above is the height of the header and the strips.
func (f *occupancyFigure) above(width vg.Length) vg.Length {
	return margin + headerHeight(f.Title, f.Subtitle, width-2*margin) + vg.Length(len(f.strips))*(stripHeight+stripGap)
}

// Draw implements [Figure].
func (f *occupancyFigure) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	below := dc
	below.Max.Y = dc.Max.Y - f.above(dc.Size().X)
	f.queue.Draw(below)
	inner := draw.Crop(dc, margin, -margin, margin, -margin)
	drawHeader(inner, f.Title, f.Subtitle)
	// The strips stand above the chart, on its time axis.
	time := f.queue.layout(below).frame
	for i, s := range f.strips {
		s.draw(&dc, time, f.top(i, dc), seriesColor(i))
	}
}

// top is where strip i begins.
func (f *occupancyFigure) top(i int, dc draw.Canvas) vg.Length {
	header := margin + headerHeight(f.Title, f.Subtitle, dc.Size().X-2*margin)
	return dc.Max.Y - header - vg.Length(i)*(stripHeight+stripGap) - stripGap + lineGap
}

// draw draws the strip with its label, as wide as the time axis.
func (s strip) draw(dc *draw.Canvas, time *frame, top vg.Length, col color.NRGBA) {
	foot := top - stripHeight
	y := func(v float64) vg.Length { return foot + stripHeight*vg.Length(v/s.gpus) }
	label := keyStyle()
	label.YAlign = draw.YBottom
	dc.FillText(label, vg.Point{X: time.Min.X, Y: top + 3.5}, s.label)
	fillRect(dc, shadeColor, vg.Rectangle{Min: vg.Point{X: time.Min.X, Y: foot}, Max: vg.Point{X: time.Max.X, Y: top}})
	px, py := stairs(s.xs, s.ys)
	pts := []vg.Point{{X: time.x(px[0]), Y: foot}}
	for i := range px {
		pts = append(pts, vg.Point{X: time.x(px[i]), Y: y(py[i])})
	}
	pts = append(pts, vg.Point{X: time.x(px[len(px)-1]), Y: foot})
	dc.FillPolygon(fade(col, 0.55), pts)
	dc.StrokeLines(draw.LineStyle{Color: col, Width: 0.7}, pts[1:len(pts)-1])
	rule := draw.LineStyle{Color: axisColor, Width: thinWidth}
	dc.StrokeLine2(rule, time.Min.X, foot, time.Max.X, foot)
	dc.StrokeLine2(draw.LineStyle{Color: mutedColor, Width: thinWidth, Dashes: dashed()}, time.Min.X, top, time.Max.X, top)
	tick := tickStyle()
	tick.XAlign, tick.YAlign = draw.XRight, draw.YCenter
	for _, v := range []float64{0, s.gpus} {
		dc.FillText(tick, vg.Point{X: time.Min.X - 7, Y: y(v) + textRise}, number(v))
	}
}

// mostSpots is how many places of a strip say something.
const mostSpots = 60

// Spots implements [Pointable]: at even times, what is in use and who waits.
func (f *occupancyFigure) Spots() []Spot {
	w, h := f.Size()
	dc := draw.NewCanvas(&recorder.Canvas{}, w, h)
	below := dc
	below.Max.Y = dc.Max.Y - f.above(w)
	time := f.queue.layout(below).frame
	var out []Spot
	for i, s := range f.strips {
		last := s.xs[len(s.xs)-1]
		for k := range mostSpots {
			x := last * (float64(k) + 0.5) / mostSpots
			at, found := slices.BinarySearch(s.xs, x)
			if !found {
				at--
			}
			if at < 0 {
				continue
			}
			y := f.top(i, dc) - stripHeight*vg.Length(1-s.ys[at]/s.gpus)
			out = append(out, Spot{X: time.x(x), Y: h - y, Text: fmt.Sprintf("%s\nafter %s h: %s of %s GPUs in use", f.Runs[i].Policy, number(x), number(s.ys[at]), number(s.gpus))})
		}
	}
	return out
}
