package report

import (
	"strings"
	"testing"

	"knee/data"
	"knee/predict"
)

// What takes goodput away may still add speed: the sentence says which it is.
func TestTheKneeIsThatOfGoodputWhereSamplesAreWorthLess(t *testing.T) {
	answers := func(worth float64) []predict.Answer {
		var all []predict.Answer
		for i, rate := range []float64{100, 160, 180, 190} {
			a := predict.Answer{Config: data.Config{GPUType: "t4", Workers: 1 << i}}
			a.Throughput.Mean = rate
			a.Goodput.Mean = rate
			if i > 1 {
				a.Goodput.Mean *= worth
			}
			all = append(all, a)
		}
		return all
	}
	base := data.Config{GPUType: "t4"}
	for worth, want := range map[float64]string{1: "adds 12 % speed", .8: "takes away 10 % goodput"} {
		if got := kneeFinding("a", base, answers(worth)); !strings.Contains(got, want) {
			t.Errorf("a sample worth %g: %q, want %q", worth, got, want)
		}
	}
}
