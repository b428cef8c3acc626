package plots

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/predict"
)

// residualSample is made up: errors that grow with the step time, of two modes.
func residualSample() Residuals {
	s := Residuals{Title: "resnet50-imagenet", Subtitle: "cross-validated, 40 predictions: mean error 7.4 %, median 6.0 %, 90 % inside their 90 % interval",
		Series: []ResidualSeries{{Name: "allreduce"}, {Name: "ps-sync"}}}
	for i := range 40 {
		x := 0.01 * math.Pow(1.12, float64(i))
		e := 0.004 * float64(i) * math.Sin(float64(7*i))
		series := &s.Series[i%2]
		series.Points = append(series.Points, ResidualPoint{X: x, Error: e, Outside: math.Abs(e) > 0.12})
	}
	return s
}

func TestResidualsGolden(t *testing.T) {
	fig, err := NewResiduals(residualSample())
	if err != nil {
		t.Fatal(err)
	}
	if *pngDir != "" {
		if err := Save(filepath.Join(*pngDir, "residuals.png"), fig); err != nil {
			t.Fatal(err)
		}
	}
	var got bytes.Buffer
	if err := Render(&got, "svg", fig); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "residuals", got.Bytes())
}

// Every point must lie inside the frame, and so must the lines at ±10 %,
// however small or large the errors are.
func TestResidualsShowEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Residuals{Series: []ResidualSeries{{Name: "a"}}}
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			x := rapid.Float64Range(1e-4, 1e3).Draw(t, "x")
			s.Series[0].Points = append(s.Series[0].Points, ResidualPoint{X: x, Error: rapid.Float64Range(-1, 20).Draw(t, "error")})
		}
		c, err := NewResiduals(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(s.Series[0].Points, ResidualPoint{X: s.Series[0].Points[0].X, Error: .1}, ResidualPoint{X: s.Series[0].Points[0].X, Error: -.1}) {
			if y := 100 * p.Error; y < c.Plot.Y.Min || y > c.Plot.Y.Max || p.X < c.Plot.X.Min || p.X > c.Plot.X.Max {
				t.Fatalf("%v lies outside %v to %v, %v to %v", p, c.Plot.X.Min, c.Plot.X.Max, c.Plot.Y.Min, c.Plot.Y.Max)
			}
		}
		if err := Render(&bytes.Buffer{}, "svg", c); err != nil {
			t.Fatal(err)
		}
	})
}

func TestResidualsOf(t *testing.T) {
	row := func(mode data.Mode, k int, measured, predicted, half float64) predict.Residual {
		return predict.Residual{Family: "auto",
			Measured:  data.Measurement{Config: data.Config{Job: "a", Mode: mode, Workers: k}, StepTime: measured, Status: data.OK},
			Predicted: data.Estimate{Mean: predicted, Lo: predicted - half, Hi: predicted + half}}
	}
	v := &predict.Validation{Method: predict.Forward, Families: []string{"auto"}, Residuals: []predict.Residual{
		row(data.PSSync, 4, 1, 1.25, .5), row(data.AllReduce, 2, 2, 1, .25),
	}}
	s := ResidualsOf(v, "a")
	if s.Series[0].Name != "allreduce" || s.Series[0].Points[0] != (ResidualPoint{X: 1, Error: -.5, Outside: true}) {
		t.Errorf("the first series is %+v", s.Series[0])
	}
	if s.Series[1].Name != "ps-sync" || s.Series[1].Points[0] != (ResidualPoint{X: 1.25, Error: .25}) {
		t.Errorf("the second series is %+v", s.Series[1])
	}
	if want := "forward, 2 predictions: mean error 37.5 %, median 37.5 %, 50 % inside their 90 % interval"; s.Subtitle != want {
		t.Errorf("subtitle %q, want %q", s.Subtitle, want)
	}
}

func TestResidualsRefuse(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		s    Residuals
		want string
	}{
		{Residuals{}, "series: found nothing"},
		{Residuals{Series: []ResidualSeries{{Name: "a", Points: []ResidualPoint{{X: 0}}}}}, "series[0].points[0].x: found 0"},
		{Residuals{Series: []ResidualSeries{{Name: "a", Points: []ResidualPoint{{X: 1, Error: nan}}}}}, "series[0].points[0].error: found NaN"},
		{Residuals{Series: []ResidualSeries{{Points: []ResidualPoint{{X: 1}}}}}, "series[0].name"},
	} {
		_, err := NewResiduals(c.s)
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v; want an input error with %q", err, c.want)
		}
	}
}
