package plots

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/predict"
)

// residual is a measurement that is predicted to take x seconds, wrong by a share e.
func residual(mode data.Mode, x, e float64, covered bool) predict.Residual {
	r := predict.Residual{Family: "auto", Predicted: data.Estimate{Mean: x},
		Measured: data.Measurement{Config: data.Config{Mode: mode}, StepTime: x / (1 + e), Status: data.OK}}
	if covered {
		r.Predicted.Hi = math.Inf(1)
	}
	return r
}

// residualSample has errors that grow with the step time, of two modes.
func residualSample() *predict.Validation {
	v := &predict.Validation{Families: []string{"auto"}}
	for i := range 40 {
		e := 0.004 * float64(i) * math.Sin(float64(7*i))
		v.Residuals = append(v.Residuals, residual([]data.Mode{data.AllReduce, data.PSSync}[i%2], 0.01*math.Pow(1.12, float64(i)), e, math.Abs(e) <= 0.12))
	}
	return v
}

// Every point must lie inside the frame, and so must the lines at ±10 %,
// however small or large the errors are.
func TestResidualsShowEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &predict.Validation{Families: []string{"auto"}}
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			v.Residuals = append(v.Residuals, residual(data.AllReduce, rapid.Float64Range(1e-4, 1e3).Draw(t, "x"), rapid.Float64Range(-.99, 20).Draw(t, "error"), false))
		}
		c, err := NewResiduals("", v)
		if err != nil {
			t.Fatal(err)
		}
		if c.Plot.Y.Min > -tolerance || c.Plot.Y.Max < tolerance {
			t.Fatalf("the axis goes from %g to %g %%", c.Plot.Y.Min, c.Plot.Y.Max)
		}
		for _, r := range v.Residuals {
			if x, y := r.Predicted.Mean, 100*r.Error(); y < c.Plot.Y.Min || y > c.Plot.Y.Max || x < c.Plot.X.Min || x > c.Plot.X.Max {
				t.Fatalf("%g, %g lies outside %v to %v, %v to %v", x, y, c.Plot.X.Min, c.Plot.X.Max, c.Plot.Y.Min, c.Plot.Y.Max)
			}
		}
		if err := Render(&bytes.Buffer{}, "svg", c); err != nil {
			t.Fatal(err)
		}
	})
}

// Modes stand in the order of data.Modes, the totals in the subtitle.
func TestResidualsByMode(t *testing.T) {
	v := &predict.Validation{Method: predict.Forward, Families: []string{"auto"}, Residuals: []predict.Residual{
		residual(data.PSSync, 1.25, .25, true), residual(data.AllReduce, 1, -.5, false),
	}}
	c, err := NewResiduals("a", v)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, e := range c.legend {
		labels = append(labels, e.label)
	}
	if want := []string{"allreduce", "ps-sync", "outside its 90 % interval", "±10 %"}; !slices.Equal(labels, want) {
		t.Errorf("the legend has %q, want %q", labels, want)
	}
	if want := "forward, 2 predictions: mean error 37.5 %, median 37.5 %, 50 % inside their 90 % interval"; c.Subtitle != want {
		t.Errorf("subtitle %q, want %q", c.Subtitle, want)
	}
}
