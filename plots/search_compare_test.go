package plots

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"knee/data"
)

func progress(from float64) []Band {
	var out []Band
	for n := 1; n <= 6; n++ {
		m := 1 + from/float64(n*n)
		out = append(out, Band{X: float64(n), Mean: m, Lo: 1, Hi: 1.5 * m})
	}
	return out
}

func TestComparison(t *testing.T) {
	late := progress(4)
	late[0].Mean, late[0].Hi = math.Inf(1), math.Inf(1) // nothing found yet
	spec := Comparison{Title: "Methods", Value: "best so far ÷ best", Methods: []Method{{"random", late}, {"tpe", progress(2)}, {"knee", progress(1)}}}
	fig, err := NewComparison(spec)
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := Render(&svg, "svg", fig); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"random and knee", "tpe", "5 % above the best"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the figure does not say %q", want)
		}
	}
}

func TestComparisonErrors(t *testing.T) {
	inverted := progress(1)
	inverted[2].Lo = 9
	lost := []Band{{X: 1, Mean: math.Inf(1), Lo: math.Inf(1), Hi: math.Inf(1)}}
	for want, s := range map[string]Comparison{
		"value":                 {Methods: []Method{{"a", progress(1)}}},
		"methods[0].name":       {Value: "v", Methods: []Method{{"", progress(1)}}},
		"methods[0].progress":   {Value: "v", Methods: []Method{{"a", inverted}}},
		"found anything":        {Value: "v", Methods: []Method{{"a", lost}}},
		"evaluations, > 0":      {Value: "v", Methods: []Method{{"a", []Band{{X: 0, Mean: 1, Lo: 1, Hi: 1}}}}},
		"no search that found ": {Value: "v"},
	} {
		if _, err := NewComparison(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

func TestSurrogate(t *testing.T) {
	next := 4.0
	s := Surrogate{Title: "Prediction", Knob: "workers", Objective: "throughput (samples/s)", Next: &next,
		Prediction: []Band{{X: 1, Mean: 10, Lo: 9, Hi: 11}, {X: 4, Mean: 1000, Lo: 20, Hi: 1400}},
		Points:     []Point{{X: 1, Y: 10}, {X: 4, Status: data.OOM}}, Gain: []Band{{X: 1}, {X: 4, Mean: 5}}}
	fig, err := NewSurrogate(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var a, b bytes.Buffer
		if err := Render(&a, format, fig); err != nil {
			t.Fatal(err)
		}
		if err := Render(&b, format, fig); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two drawings of one figure differ (%v)", format, err)
		}
	}
	none := s
	none.Prediction = nil
	wild := s
	wild.Gain = []Band{{X: 1, Mean: math.NaN()}}
	for want, s := range map[string]Surrogate{"prediction": none, "gain": wild} {
		if _, err := NewSurrogate(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}
