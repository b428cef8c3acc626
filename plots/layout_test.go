package plots

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"knee/data"
)

func TestEmptiestTakesTheFirstOfEquals(t *testing.T) {
	boxes := corners(vg.Rectangle{Max: vg.Point{X: 100, Y: 100}}, vg.Point{X: 20, Y: 10})
	topLeft, topRight, bottomRight := vg.Point{X: 10, Y: 90}, vg.Point{X: 90, Y: 90}, vg.Point{X: 90, Y: 10}
	for _, c := range []struct {
		ink           []vg.Point
		best, covered int
	}{
		{nil, 0, 0},
		{[]vg.Point{topLeft}, 1, 0},
		{[]vg.Point{topLeft, topRight}, 2, 0},
		{[]vg.Point{topLeft, topRight, bottomRight}, 3, 0},
		{[]vg.Point{topLeft, topLeft, topRight, bottomRight, bottomRight, {X: 10, Y: 10}, {X: 11, Y: 10}}, 1, 1},
	} {
		if best, covered := emptiest(boxes, c.ink); best != c.best || covered != c.covered {
			t.Errorf("emptiest(%v) = %d, %d; want %d, %d", c.ink, best, covered, c.best, c.covered)
		}
	}
}

// TestLegendCoversNoData lays out samples and checks that a legend inside
// the plot has no ink under it, and that the crowded one moves out.
func TestLegendCoversNoData(t *testing.T) {
	inside := map[string]bool{"scalability_crowded": false, "convergence": true, "search": true, "simulation": true, "step_time": true}
	for _, s := range samples() {
		fig, err := s.make()
		if err != nil {
			t.Fatal(err)
		}
		c, ok := fig.(*Chart)
		if !ok {
			continue
		}
		w, h := c.Size()
		body := draw.Crop(draw.NewCanvas(new(recorder.Canvas), w, h), margin, -margin, margin, -margin-40)
		f := c.frame(body)
		_, corner, fits := c.arrange(f)
		if want, given := inside[s.name]; given && fits != want {
			t.Errorf("%s: legend inside is %v; want %v", s.name, fits, want)
		}
		if !fits {
			continue
		}
		for _, m := range c.layers {
			if _, covered := emptiest([]vg.Rectangle{corner}, m.ink(f)); covered > 0 {
				t.Errorf("%s: the legend covers %d points of a %T", s.name, covered, m)
			}
		}
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
		if got := number(v); got != want {
			t.Errorf("number(%g) = %s; want %s", v, got, want)
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
	if _, err := MeasuredPoints(ms, Throughput); err == nil || err.Error() != "m.csv:2:local_batch: found 0, want a batch > 0 to turn the step time into a throughput" {
		t.Errorf("without a batch the error is %v", err)
	}
}

func TestLossesAreThinnedAndSaySo(t *testing.T) {
	c, err := NewConvergence(convergenceSample(1500))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.legend[0].label; got != "measured, 1 of 3 drawn" {
		t.Errorf("the legend says %q", got)
	}
	pts := LossPoints([]data.CurvePoint{{Step: 1, Loss: 2}, {Step: 2, Loss: math.NaN()}, {Step: math.NaN(), Loss: 1}})
	if len(pts) != 1 || pts[0] != (Point{X: 1, Y: 2}) {
		t.Errorf("LossPoints = %v", pts)
	}
}
