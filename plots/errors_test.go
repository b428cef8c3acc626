package plots

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/allocate/plan"
	"knee/allocate/simulate"
	"knee/data"
	"knee/predict"
)

// TestBadInputIsNamed checks that every figure refuses what it cannot draw
// and says which field it was.
func TestBadInputIsNamed(t *testing.T) {
	nan := math.NaN()
	one := []Point{{X: 1, Y: 1}}
	scal := func(s Series) error {
		_, err := NewScalability(Scalability{Quantity: Throughput, Series: []Series{s}})
		return err
	}
	conv := func(edit func(*course)) error {
		c := convergenceSample(50)
		edit(&c)
		_, err := c.draw()
		return err
	}
	search := func(trials ...data.Measurement) error {
		_, err := NewSearch("", trials)
		return err
	}
	alloc := func(edit func(*data.Cluster, *data.Plan)) error {
		_, _, c, p := allocationSample()
		edit(c, p)
		_, err := NewAllocation("", "", c, p)
		return err
	}
	_, noPlan := NewAllocation("", "", &data.Cluster{Nodes: []data.Node{{Name: "n", GPUs: 8}}}, nil)
	quantity := func(q Quantity, ideal bool) error {
		_, err := NewScalability(Scalability{Quantity: q, Ideal: ideal, Series: []Series{{Name: "a", Points: one}}})
		return err
	}
	gain := func(steps ...plan.Step) error {
		_, err := gains{Jobs: []plan.Staircase{{Job: "a", Least: 1, Steps: steps}}}.draw()
		return err
	}
	usage := func(history ...simulate.Usage) error {
		var runs []simulate.Replayed
		if history != nil {
			runs = []simulate.Replayed{{Policy: "a", GPUs: 4, History: history}}
		}
		_, err := NewOccupancy("", runs)
		return err
	}
	heat := func(cells ...cell) error {
		_, err := heatMap{Cells: cells}.draw()
		return err
	}
	sim := func(runs ...simulate.Replayed) error {
		_, err := NewSimulation("", runs)
		return err
	}
	residuals := func(all ...predict.Residual) error {
		_, err := NewResiduals("", &predict.Validation{Residuals: all})
		return err
	}
	_, none := NewScalability(Scalability{Quantity: Throughput})
	failed := []Point{{X: 1, Status: data.OOM}, {X: 2, Status: data.OOM}, {X: 3, Status: data.Failed}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{none, "figure:series: found nothing, want at least one measured point or curve"},
		{scal(Series{Points: one}), "series[0].name"},
		{scal(Series{Name: "a", Points: []Point{{X: 1, Y: nan}}}), "series[0].points[0].y: found NaN, want a finite number > 0"},
		{scal(Series{Name: "a", Points: []Point{{X: 0, Y: 1}}}), "series[0].points[0].x: found 0"},
		{scal(Series{Name: "a", Points: []Point{{X: 1, Y: 1e-310}}}), "series[0].points[0].y: found 1e-310, want at least 1e-100"},
		{scal(Series{Name: "a", Points: []Point{{X: 1, Y: 5, Lo: 6, Hi: 7}}}), "interval 6 to 7 around 5"},
		{scal(Series{Name: "a", Points: []Point{{X: 1, Y: 5, Lo: 4, Hi: math.Inf(1)}}}), "series[0].points[0].hi: found +Inf"},
		{scal(Series{Name: "a", Points: failed}), "found 2 out of memory, 1 failed, want at least one measurement that is ok, or a curve"},
		{scal(Series{Name: "a", Curve: []Band{{X: 1, Mean: 1, Lo: 1, Hi: 1}, {X: 1, Mean: 1, Lo: 1, Hi: 1}}}), "series[0].curve[1].x: found 1, want more than 1"},
		{scal(Series{Name: "a", Curve: []Band{{X: 1, Mean: 1, Lo: nan, Hi: 1}}}), "series[0].curve[0].lo: found NaN"},
		{scal(Series{Name: "a", Points: one, Knee: &Knee{X: 2, Y: nan}}), "series[0].knee.y: found NaN"},
		{quantity("latency", false), `quantity: found "latency"`},
		{quantity("step time", true), `quantity: found "step time"`},
		{conv(func(c *course) { c.Points[3].Y = nan }), "points[3].y: found NaN"},
		{conv(func(c *course) { *c.Target = nan }), "target: found NaN"},
		{conv(func(c *course) { c.Target = nil }), "target: found none"},
		{conv(func(c *course) { c.Crossing.Hi = 1 }), "crossing: found interval"},
		{conv(func(c *course) { c.Points, c.Curve = nil, nil }), "points: found nothing"},
		{search(data.Measurement{StepTime: nan, Status: data.OK}), "step_time_s: found NaN"},
		{search(data.Measurement{StepTime: 1e-200, Status: data.OK}), "trials[0].y: found 1e+200"},
		{search(), "trials: found nothing"},
		{search(data.Measurement{Status: data.Timeout}), "found 1 timeout"},
		{alloc(func(c *data.Cluster, _ *data.Plan) { *c = data.Cluster{} }), "cluster: found no nodes"},
		{noPlan, "plan: found none"},
		{alloc(func(_ *data.Cluster, p *data.Plan) { p.Jobs[0].Placement[0].Node = "b77" }), `plan.jobs[resnet50].placement: found node "b77"`},
		{alloc(func(_ *data.Cluster, p *data.Plan) { p.Jobs[0].Placement[0].Workers = 9 }), "found 9 workers on a01, want at most the 8 GPUs it has"},
		{alloc(func(_ *data.Cluster, p *data.Plan) { p.Jobs[0].Placement[0].Workers = -1 }), "want counts ≥ 0"},
		{alloc(func(c *data.Cluster, _ *data.Plan) { c.Nodes[1].Name = "a01" }), `cluster.nodes[1]: found "a01" again`},
		{alloc(func(c *data.Cluster, _ *data.Plan) { c.Nodes = make([]data.Node, 401) }), "at most 400 nodes"},
		{gain(), "jobs: found nothing beyond the smallest allocations"},
		{gain(plan.Step{From: 1, To: 2, Gain: nan}), "jobs[0].steps[0].gain: found NaN"},
		{usage(), "runs: found 0, want 1 to 12 policies"},
		{usage(simulate.Usage{}), "runs[0].history: found 1 times"},
		{usage(simulate.Usage{}, simulate.Usage{At: nan}), "runs[0].history[1].at: found NaN"},
		{heat(cell{X: 1, Y: 1, Value: 0}), "cells[0].value: found 0"},
		{heat(), "cells: found 0 columns"},
		{sim(), "runs: found nothing"},
		{sim(simulate.Replayed{Policy: "a"}), "runs[0].outcomes: found nothing"},
		{sim(simulate.Replayed{Policy: "a", Outcomes: []simulate.Outcome{{End: 1}, {}}}), "runs[0].outcomes[1].jct: found 0"},
		{residuals(), "residuals: found nothing"},
		{residuals(predict.Residual{}), "residuals[0].predicted: found 0"},
		{residuals(predict.Residual{Predicted: data.Estimate{Mean: 1}}), "residuals[0].error: found +Inf"},
	} {
		var input *data.InputError
		if !errors.As(c.err, &input) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("the error is %v; want an input error with %q", c.err, c.want)
		}
	}
}

// TestLittleInputIsDrawn draws figures with next to nothing in them.
func TestLittleInputIsDrawn(t *testing.T) {
	target := 1.0
	flat := []Band{{X: 1, Mean: 2, Lo: 2, Hi: 2}, {X: 2, Mean: 2, Lo: 2, Hi: 2}}
	for name, fig := range map[string]func() (*Chart, error){
		"one point": func() (*Chart, error) {
			return NewScalability(Scalability{Quantity: Throughput, Ideal: true, Series: []Series{{Name: "a", Points: []Point{{X: 1, Y: 5}}}}})
		},
		"one point, log2": func() (*Chart, error) {
			return NewScalability(Scalability{Quantity: Throughput, X: LogScale, Series: []Series{{Name: "a", Points: []Point{{X: 4, Y: 5}}}}})
		},
		"one point of a curve": func() (*Chart, error) {
			return NewScalability(Scalability{Quantity: Throughput, Series: []Series{{Name: "a", Curve: flat[:1]}}})
		},
		"failed beside a curve of zero width": func() (*Chart, error) {
			return NewScalability(Scalability{Quantity: Throughput, Series: []Series{{Name: "a", Curve: flat, Points: []Point{{X: 1, Status: data.OOM}}}}})
		},
		"everything extrapolated": func() (*Chart, error) {
			return NewScalability(Scalability{Quantity: Throughput, Series: []Series{{Name: "a", Curve: []Band{{1, 2, 1, 3, true}, {2, 3, 1, 4, true}}}}})
		},
		"crossing at step 0": func() (*Chart, error) {
			return course{Points: []Point{{X: 0, Y: 1}}, Target: &target, Crossing: &data.Estimate{}}.draw()
		},
		"one trial": func() (*Chart, error) {
			return NewSearch("", []data.Measurement{{StepTime: 3}})
		},
		"a gain of nothing": func() (*Chart, error) {
			return gains{GPUType: "t4", Jobs: []plan.Staircase{{Job: "a", GPUType: "t4", Workers: 1, Steps: []plan.Step{{From: 0, To: 1, Given: true}}}}}.draw()
		},
		"one job": func() (*Chart, error) {
			return NewSimulation("", []simulate.Replayed{{Policy: "a", Outcomes: []simulate.Outcome{{End: 60}}}})
		},
	} {
		c, err := fig()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := Render(io.Discard, "svg", c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnyNumbersAreDrawnOrRefused throws numbers of every size at the
// figure: it is drawn or refused as input, and never panics.
func TestAnyNumbersAreDrawnOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(1e-6, 1e6), rapid.Float64Range(1, 64))
		s := Series{Name: rapid.String().Draw(t, "name")}
		for range rapid.IntRange(0, 4).Draw(t, "points") {
			y := number.Draw(t, "y")
			s.Points = append(s.Points, Point{X: number.Draw(t, "x"), Y: y, Lo: y / 2, Hi: y * 2, Status: rapid.SampledFrom(data.Statuses()).Draw(t, "status")})
		}
		x := 0.0
		for range rapid.IntRange(0, 4).Draw(t, "curve") {
			x += math.Abs(number.Draw(t, "dx"))
			y := number.Draw(t, "mean")
			s.Curve = append(s.Curve, Band{X: x, Mean: y, Lo: y * 0.5, Hi: y * 1.5, Extrapolated: rapid.Bool().Draw(t, "extrapolated")})
		}
		c, err := NewScalability(Scalability{
			Quantity: Throughput, Series: []Series{s}, Ideal: true,
			X: rapid.SampledFrom([]Scale{AutoScale, LinearScale, LogScale}).Draw(t, "scale"),
		})
		var input *data.InputError
		if err != nil && !errors.As(err, &input) {
			t.Fatalf("the error is %v; want an input error", err)
		}
		if err != nil {
			return
		}
		if err := Render(io.Discard, "svg", c); err != nil {
			t.Fatal(err)
		}
	})
}
