package report

import (
	"regexp"
	"strings"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/plots"
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
	for worth, want := range map[float64]string{1: "+12 % speed", .8: "-10 % goodput"} {
		c := choice{curve: answers(worth), knee: 1, last: 3}
		if got := c.workers(); !strings.Contains(got, want) {
			t.Errorf("a sample worth %g: %q, want %q", worth, got, want)
		}
	}
}

// What was not measured is no knee, and a curve that still rises at the last
// measured number of workers is not said to scale beyond it.
func TestTheKneeIsSoughtAmongWhatWasMeasured(t *testing.T) {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: k, LocalBatch: 32}, StepTime: .05 + .0005*float64(k), Status: data.OK})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	conditions, err := plots.Conditions(&predict.Predictor{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	all, err := choose(conditions)
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0].at().Config.Workers; got != 8 {
		t.Errorf("the knee is at %d workers, want 8, the most measured", got)
	}
	if got := all[0].workers(); !strings.Contains(got, "8 workers, the most within the measured range") || !regexp.MustCompile(`16 would bring \+\d+ % speed \([-+]\d+ to \+\d+ %, extrapolated\)`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	if got := conditionTable(all).Columns[3].Name; got != "throughput (samples/s)" {
		t.Errorf("without gradient statistics the table speaks of %s", got)
	}
	// Of a single size nothing is known of a second worker.
	one, err := fit.Fit(ms[:1], fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if conditions, err = plots.Conditions(&predict.Predictor{Model: one}); err != nil {
		t.Fatal(err)
	}
	if all, err = choose(conditions); err != nil {
		t.Fatal(err)
	}
	if got := all[0].workers(); !strings.Contains(got, "the knee is there or beyond") || strings.Contains(got, "less than half") {
		t.Errorf("measured on one worker only: %q", got)
	}
}
