package plots

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"knee/data"
)

func TestSurrogate(t *testing.T) {
	next := 4.0
	s := surrogate{Title: "Prediction", Knob: "workers", Objective: "throughput (samples/s)", Next: &next,
		Prediction: []Band{{X: 1, Mean: 10, Lo: 9, Hi: 11}, {X: 4, Mean: 1000, Lo: 20, Hi: 1400}},
		Points:     []Point{{X: 1, Y: 10}, {X: 4, Status: data.OOM}}, Gain: []Band{{X: 1}, {X: 4, Mean: 5}}}
	fig, err := s.draw()
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
	for want, s := range map[string]surrogate{"prediction": none, "gain": wild} {
		if _, err := s.draw(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}
