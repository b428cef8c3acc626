package plots

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"knee/data"
)

func TestEmptiestTakesTheFirstOfEquals(t *testing.T) {
	boxes := []vg.Rectangle{{Max: vg.Point{X: 10, Y: 10}}, {Min: vg.Point{X: 50}, Max: vg.Point{X: 60, Y: 10}}, {Min: vg.Point{X: 90}, Max: vg.Point{X: 99, Y: 10}}}
	left, middle, right := vg.Point{X: 5, Y: 5}, vg.Point{X: 55, Y: 5}, vg.Point{X: 95, Y: 11}
	for _, c := range []struct {
		ink           []vg.Point
		best, covered int
	}{
		{nil, 0, 0},
		{[]vg.Point{left}, 1, 0},
		{[]vg.Point{left, middle}, 2, 0},
		{[]vg.Point{left, left, middle, middle, right}, 2, 1},
		{[]vg.Point{left, middle, right}, 0, 1},
	} {
		if best, covered := emptiest(boxes, c.ink); best != boxes[c.best] || covered != c.covered {
			t.Errorf("emptiest(%v) = %v, %d; want %v, %d", c.ink, best, covered, boxes[c.best], c.covered)
		}
	}
}

// TestLegendStandsAboveTheData measures every sample at several widths: the
// legend fits between header and data, and no row of it is wider than the figure.
func TestLegendStandsAboveTheData(t *testing.T) {
	for _, s := range samples() {
		fig, err := s.make()
		if err != nil {
			t.Fatal(err)
		}
		c, ok := fig.(*Chart)
		if !ok {
			continue
		}
		for _, width := range []vg.Length{c.Width, c.Width / 2} {
			dc := draw.NewCanvas(new(recorder.Canvas), width, c.Height)
			below := dc.Max.Y - margin - headerHeight(c.Title, c.Subtitle, width-2*margin) - c.legend.height(width-2*margin)
			if top := c.frame(dc).Max.Y; top > below {
				t.Errorf("%s, %g points wide: the data reach up to %g, the legend down to %g", s.name, width, top, below)
			}
			for _, row := range c.legend.rows(width - 2*margin) {
				if n := len(row); n > 1 && rowWidth(row) > width-2*margin {
					t.Errorf("%s: a row of %d entries is %g points wide, of %g", s.name, n, rowWidth(row), width-2*margin)
				}
			}
		}
	}
}

func rowWidth(row []entry) vg.Length {
	w := -keyGap
	for _, e := range row {
		w += keyGap + e.sampleWidth() + swatchGap + keyStyle().Width(e.label)
	}
	return w
}

// TestAnnotationAvoidsWhatIsDrawn draws a line through the nearest places of an
// annotation: it goes elsewhere, and a second one does not cover the first. Of a point
// amid many lines it goes beyond them.
func TestAnnotationAvoidsWhatIsDrawn(t *testing.T) {
	c := newChart("", "", "x", "y")
	extent{0, 10}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 5})
	extent{0, 10}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	c.add(polyline(solid(palette[0]), []float64{0, 10}, []float64{5, 5}))
	c.annotations = []annotation{{5, 5, "first", palette[0]}, {5, 5, "second", palette[0]}}
	var texts textPlaces
	c.Draw(draw.NewCanvas(&texts, c.Width, c.Height))
	line := c.frame(draw.NewCanvas(&texts, c.Width, c.Height)).y(5)
	var boxes []vg.Rectangle
	for _, word := range []string{"first", "second"} {
		sty := bold(keyStyle())
		size := sty.Rectangle(word).Size()
		at := texts.at[word]
		b := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 3}, Max: vg.Point{X: at.X + size.X, Y: at.Y + size.Y - 3}}
		if b.Min.Y < line && line < b.Max.Y {
			t.Errorf("%q from %g to %g lies on the line at %g", word, b.Min.Y, b.Max.Y, line)
		}
		boxes = append(boxes, b)
	}
	if a, b := boxes[0], boxes[1]; a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y {
		t.Errorf("the annotations %v and %v overlap", a, b)
	}
	for y := 2.5; y <= 7.5; y += 0.25 {
		c.add(polyline(solid(palette[0]), []float64{0, 10}, []float64{y, y}))
	}
	c.annotations = c.annotations[:1]
	c.Draw(draw.NewCanvas(&texts, c.Width, c.Height))
	f := c.frame(draw.NewCanvas(&texts, c.Width, c.Height))
	if at := texts.at["first"].Y; f.y(2.3) < at && at < f.y(7.5) {
		t.Errorf("the text at %g lies among the lines from %g to %g", at, f.y(2.5), f.y(7.5))
	}
}

// TestVerticalLabelStaysBesideTheData: at the least height of a chart, a label longer than
// the data are high does not run into the legend.
func TestVerticalLabelStaysBesideTheData(t *testing.T) {
	c := newChart("title", "subtitle", "x", "cost of a million samples (worker-hours)")
	extent{0, 10}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 5})
	extent{0, 10}.set(&c.Plot.Y, plot.LinearScale{}, linearTicks{want: 5})
	c.explain(entry{label: "measured"})
	c.Height = 0
	_, c.Height = c.Size()
	var texts textPlaces
	dc := draw.NewCanvas(&texts, c.Width, c.Height)
	c.Draw(dc)
	body, from := c.body(dc), texts.at[c.YLabel].X // turned: its x runs up the page
	if to := from + axisStyle().Width(c.YLabel); from < body.Min.Y-1e-6 || to > body.Max.Y+1e-6 {
		t.Errorf("the label runs from %g to %g beside data and ticks from %g to %g", from, to, body.Min.Y, body.Max.Y)
	}
}

// textPlaces is a canvas that notes where texts are written.
type textPlaces struct {
	recorder.Canvas
	at map[string]vg.Point
}

func (c *textPlaces) FillString(_ font.Face, pt vg.Point, s string) {
	if c.at == nil {
		c.at = map[string]vg.Point{}
	}
	c.at[s] = pt
}

// TestAnnotationAvoidsMarkers places a text beside a marker that is wider than the
// nearest distance.
func TestAnnotationAvoidsMarkers(t *testing.T) {
	var under ink
	c := draw.NewCanvas(&under, 100, 100)
	c.DrawGlyph(draw.GlyphStyle{Color: inkColor, Radius: 10, Shape: draw.CircleGlyph{}}, vg.Point{X: 50, Y: 50})
	right := vg.Rectangle{Min: vg.Point{X: 57, Y: 45}, Max: vg.Point{X: 80, Y: 55}}
	if _, covered := emptiest([]vg.Rectangle{right}, under.points); covered == 0 {
		t.Error("a text over the edge of a marker counts as covering nothing")
	}
}

// TestIdealScalingOnMixedAxes checks that every point of the ideal line is
// proportional to the workers, and between two ends that the axis bends.
func TestIdealScalingOnMixedAxes(t *testing.T) {
	xs, ys := idealLine(2, 30, 64, false)
	if n := len(xs); n < 20 || xs[0] != 2 || math.Abs(xs[n-1]-64) > 1e-9 {
		t.Fatalf("ideal scaling is drawn through %v", xs)
	}
	for i := range xs {
		if math.Abs(ys[i]-15*xs[i]) > 1e-9*ys[i] {
			t.Errorf("ideal scaling of 15 per worker is %g at %g workers", ys[i], xs[i])
		}
	}
}

// TestLongWordsAreBroken keeps titles and legends inside the figure.
func TestLongWordsAreBroken(t *testing.T) {
	name := strings.Repeat("word-", 60)
	rows := wrap("of "+name+" end", titleStyle(), 200)
	if got := strings.ReplaceAll(strings.Join(rows, ""), " ", ""); got != "of"+name+"end" {
		t.Errorf("the rows say %q", got)
	}
	for _, row := range rows {
		if w := titleStyle().Width(row); w > 200 {
			t.Errorf("row %q is %g points wide", row, w)
		}
	}
	if w := rowWidth(legend{{label: name}}.rows(200)[0]); w > 200 {
		t.Errorf("the legend is %g points wide", w)
	}
}

// TestDataHaveRoom gives a figure with a long legend more height, and refuses a
// size that has none left for the data.
func TestDataHaveRoom(t *testing.T) {
	c, err := NewScalability(scalabilitySample())
	if err != nil {
		t.Fatal(err)
	}
	if err := (Options{Width: 6 * vg.Centimeter, Height: 5 * vg.Centimeter}).Apply(c); err == nil || !strings.Contains(err.Error(), "6 × 5 cm, want at least") {
		t.Errorf("6 × 5 cm: %v", err)
	}
	nan := vg.Length(math.NaN())
	if err := (Options{Width: nan, Height: nan}).Apply(c); err == nil {
		t.Error("a size that is no number was accepted")
	}
	low, err := NewAllocation("", "", &data.Cluster{Nodes: []data.Node{{Name: "n", GPUs: 8}}}, &data.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	_, before := low.Size()
	if err := (Options{}).Apply(low); err != nil {
		t.Error(err)
	}
	if _, after := low.Size(); math.Abs(float64(after-before)) > 1e-6 {
		t.Errorf("no options change the height of a figure from %g to %g points", before, after)
	}
	c.Width, c.Height = DefaultWidth, DefaultHeight
	for range 60 {
		c.explain(entry{label: "a further curve of the figure"})
	}
	w, h := c.Size()
	if got := c.frame(draw.NewCanvas(new(recorder.Canvas), w, h)).Size().Y; got < DefaultHeight/4 {
		t.Errorf("beside a legend of 60 the data are %g points high, of %g", got, h)
	}
}

// TestOutliersDoNotFlattenTheCurve draws a loss of 1e30 among losses below 3.
func TestOutliersDoNotFlattenTheCurve(t *testing.T) {
	s := convergenceSample(100)
	s.Top = 3
	s.Points[50].Y = 1e30
	c, err := s.draw()
	if err != nil {
		t.Fatal(err)
	}
	if c.Plot.Y.Max > 6 || c.legend[0].label != "measured, 1 outlier above" {
		t.Errorf("the axis ends at %g, the legend says %q", c.Plot.Y.Max, c.legend[0].label)
	}
}

// TestManyJobsOnManyNodes keeps a row of 11 points for every node, and no list of
// jobs in colours that repeat.
func TestManyJobsOnManyNodes(t *testing.T) {
	cluster, plan := &data.Cluster{}, &data.Plan{}
	for i := range 200 {
		node := fmt.Sprintf("n%d", i)
		cluster.Nodes = append(cluster.Nodes, data.Node{Name: node, GPUType: "a100", GPUs: 8})
		plan.Jobs = append(plan.Jobs, data.PlannedJob{Name: fmt.Sprintf("job-%d", i), GPUType: "a100", Workers: 8, Placement: []data.NodeShare{{Node: node, Workers: 8}}})
	}
	c, err := NewAllocation("", "", cluster, plan)
	if err != nil {
		t.Fatal(err)
	}
	w, h := c.Size()
	var texts textPlaces
	dc := draw.NewCanvas(&texts, w, h)
	c.Draw(dc)
	if row := c.frame(dc).Size().Y / 200; row < 10.5 {
		t.Errorf("a row is %g points high", row)
	}
	if _, named := texts.at["job-150"]; !named || len(c.legend) > 3 || c.Subtitle != "200 jobs, several in each colour" {
		t.Errorf("cells are named: %t; the legend has %d entries; the subtitle is %q", named, len(c.legend), c.Subtitle)
	}
	if got := c.tooltips[0].text; got != "n0: 8 workers of job-0" {
		t.Errorf("the tooltip of a node is %q", got)
	}
}

func values(ticks []plot.Tick) (out []float64, labels []string) {
	for _, t := range ticks {
		out, labels = append(out, t.Value), append(labels, t.Label)
	}
	return out, labels
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		ticker plot.Ticker
		lo, hi float64
		want   []string
	}{
		{powerTicks{}, 0.9, 70, []string{"1", "2", "4", "8", "16", "32", "64"}},
		{linearTicks{want: 10, whole: true}, 0, 8.4, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}},
		{linearTicks{want: 10, whole: true}, 0, 24, []string{"0", "5", "10", "15", "20"}},
		{linearTicks{want: 6}, 0, 1.1, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{linearTicks{want: 6}, 0, 45000, []string{"0", "10k", "20k", "30k", "40k"}},
		{linearTicks{want: 4}, -2, 2, []string{"−2", "−1", "0", "1", "2"}},
		{decadeTicks{}, 150, 12000, []string{"200", "500", "1000", "2000", "5000", "10k"}},
		{decadeTicks{}, 0.001, 90, []string{"0.001", "0.01", "0.1", "1", "10"}},
	} {
		_, got := values(c.ticker.Ticks(c.lo, c.hi))
		if len(got) != len(c.want) {
			t.Errorf("%T from %g to %g: %q; want %q", c.ticker, c.lo, c.hi, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%T from %g to %g: %q; want %q", c.ticker, c.lo, c.hi, got, c.want)
				break
			}
		}
	}
}

// TestTicksLieOnTheAxis holds for every axis: ticks ascend, lie in range,
// and are few enough to read.
func TestTicksLieOnTheAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := math.Pow(10, rapid.Float64Range(-12, 12).Draw(t, "log lo"))
		hi := lo * math.Pow(10, rapid.Float64Range(0.05, 20).Draw(t, "decades"))
		for _, ticker := range []plot.Ticker{linearTicks{want: 6}, linearTicks{want: 10, whole: true}, decadeTicks{}, powerTicks{}} {
			at, _ := values(ticker.Ticks(lo, hi))
			if len(at) > 14 {
				t.Fatalf("%T has %d ticks from %g to %g", ticker, len(at), lo, hi)
			}
			for i, v := range at {
				if slack := math.Max(1e-6*hi, 1e-8); v < lo-slack || v > hi+slack || i > 0 && v <= at[i-1] {
					t.Fatalf("%T from %g to %g has ticks %g", ticker, lo, hi, at)
				}
			}
		}
	})
}

func TestNumbersInLabels(t *testing.T) {
	for v, want := range map[float64]string{0.0421: "0.0421", 12.54: "12.5", 3141: "3141", 61234: "61.2k", 2.5e6: "2.5M", 7: "7", 1e-7: "1e-7"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%g) = %s; want %s", v, got, want)
		}
	}
}

// TestMeasuredInterval checks the error bars against Student's t from the
// tables: 1.98422 for 99 and 12.7062 for 1 degree of freedom.
func TestMeasuredInterval(t *testing.T) {
	c := data.Config{Workers: 4, LocalBatch: 32}
	ms := []data.Measurement{
		{Config: c, StepTime: 0.2, StepTimeSD: 0.02, Steps: 100, Status: data.OK},
		{Config: c, StepTime: 0.2, StepTimeSD: 0.02, Steps: 2, Status: data.OK},
		{Config: c, StepTime: 0.2, Steps: 100, Status: data.OK},
		{Config: c, Status: data.OOM},
	}
	pts, err := MeasuredPoints(ms, Throughput)
	if err != nil {
		t.Fatal(err)
	}
	// 4 × 32 samples in 0.2 s; the spread relative to it is t · 0.1 / √n.
	for i, half := range []float64{1.98422 * 0.1 / 10, 12.7062 * 0.1 / math.Sqrt2, 0} {
		p := pts[i]
		if p.Y != 640 || p.X != 4 {
			t.Errorf("point %d is %+v; want 640 samples/s at 4 workers", i, p)
		}
		if got := (p.Hi - p.Lo) / 2 / p.Y; p.Hi > 0 && math.Abs(got-half) > 1e-5 {
			t.Errorf("point %d has a relative half-width of %g; want %g", i, got, half)
		}
		if (p.Hi == 0) != (half == 0) {
			t.Errorf("point %d has the interval %g to %g", i, p.Lo, p.Hi)
		}
	}
	if pts[3].ok() || pts[3].X != 4 {
		t.Errorf("the point out of memory is %+v", pts[3])
	}
	if _, err := MeasuredPoints(ms, Goodput); err == nil {
		t.Error("goodput was read off measurements that do not hold it")
	}
	ms[0].LocalBatch, ms[0].Source = 0, data.Source{File: "m.csv", Line: 2}
	if _, err := MeasuredPoints(ms, Throughput); err == nil || err.Error() != "m.csv:2:local_batch: found 0, want a batch > 0, from which throughput follows" {
		t.Errorf("without a batch the error is %v", err)
	}
}

func TestLossesAreThinnedAndSaySo(t *testing.T) {
	c, err := convergenceSample(1500).draw()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.legend[0].label; got != "measured, 1 of 3 drawn" {
		t.Errorf("the legend says %q", got)
	}
	pts := lossPoints([]data.CurvePoint{{Step: 1, Loss: 2}, {Step: 2, Loss: math.NaN()}, {Step: math.NaN(), Loss: 1}})
	if len(pts) != 1 || pts[0] != (Point{X: 1, Y: 2}) {
		t.Errorf("lossPoints = %v", pts)
	}
}
