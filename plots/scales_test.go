package plots

import (
	"testing"

	"gonum.org/v1/plot"
)

// A record far shorter than the way to the target is drawn over a logarithmic axis, one of
// a near target over a linear one.
func TestDistantTargets(t *testing.T) {
	for name, x := range map[string]struct {
		first, end float64
		log        bool
	}{"distant": {1, 5000, true}, "near": {1, 300, false}, "from the start": {0, 5000, true}} {
		c, err := course{Points: []Point{{X: x.first, Y: 5}, {X: 100, Y: 3}}, Curve: []Band{{X: 100, Mean: 3, Lo: 2.9, Hi: 3.1}, {X: x.end, Mean: 2, Lo: 1.9, Hi: 2.1}}, XLabel: "step", YLabel: "loss"}.draw()
		if err != nil {
			t.Fatal(err)
		}
		if _, log := c.Plot.X.Scale.(plot.LogScale); log != x.log {
			t.Errorf("%s: logarithmic %v", name, log)
		}
	}
}

// Ideal scaling starts at the first measurement, of chosen layouts at the curve.
func TestWhereIdealScalingStarts(t *testing.T) {
	s := Series{Points: []Point{{X: 8, Y: 10}, {X: 8, Y: 12}}, Curve: []Band{{X: 4, Mean: 9}}}
	if x, y, _ := reference(s); x != 8 || y != 11 {
		t.Errorf("from %g, %g, want 8, 11", x, y)
	}
	s.Layouts = true
	if x, y, _ := reference(s); x != 4 || y != 9 {
		t.Errorf("from %g, %g, want 4, 9", x, y)
	}
}
