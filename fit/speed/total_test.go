package speed

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"knee/data"
)

func stepsOf(workers, nodes int, seconds ...float64) []data.Measurement {
	var ms []data.Measurement
	for _, s := range seconds {
		c := data.Config{Job: "job", GPUType: "t4", Workers: workers, Nodes: nodes, LocalBatch: 16}
		ms = append(ms, data.Measurement{Config: c, StepTime: s, Status: data.OK})
		workers *= 2
	}
	return ms
}

// Steps of eight workers do not tell computing from communication: one worker may
// take as long, or a third.
func TestOneSizeLeavesCommunicationOpen(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		m, err := Fit(context.Background(), stepsOf(8, nodes, .1), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(data.Config{GPUType: "t4", Workers: 1, Nodes: 1, LocalBatch: 16})
		if err != nil {
			t.Fatal(err)
		}
		if e := p.StepTime; !(e.Lo < .033 && e.Hi > .1) {
			t.Errorf("%d nodes: one worker takes %+v s where eight take .1", nodes, e)
		}
	}
}

// With totals, z and θ are inverse, and derivatives are those of differences.
func TestTotals(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		m, err := Fit(context.Background(), stepsOf(8, nodes, .1, .12, .15), Settings{FormOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		task := m.groups[0].task
		c := task.coords
		if len(c.totals) != 1 || c.totals[0].between != (nodes == 2) {
			t.Fatalf("totals %+v", c.totals)
		}
		z := make([]float64, c.len())
		for i := range z {
			z[i] = .3*float64(i%5) - .5
		}
		for i, v := range c.z(c.theta(z)) {
			if math.Abs(v-z[i]) > 1e-9 {
				t.Errorf("coordinate %d is %g after θ, was %g", i, v, z[i])
			}
		}
		at := func(z []float64) float64 {
			ln, _ := task.form.Bind(c.theta(z)).LogTimes(&task.pts[1])
			return ln
		}
		want := fd.Gradient(nil, at, z, &fd.Settings{Formula: fd.Central})
		theta, got := c.theta(z), make([]float64, len(z))
		task.form.Gradient(theta)(&task.pts[1], got, make([]float64, len(z)))
		c.pull(theta, got)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("%d nodes: derivative %d is %g, want %g", nodes, i, got[i], want[i])
			}
		}
	}
}
