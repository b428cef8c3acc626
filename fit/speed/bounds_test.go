package speed

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"knee/data"
)

// Of a job whose network collapses beyond 8 workers only the runs of few workers
// ended; the others give lower bounds.
func TestLowerBounds(t *testing.T) {
	at := func(k int) data.Config {
		return data.Config{Job: "job", GPUType: "a100", Workers: k, Nodes: k, LocalBatch: 32}
	}
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8} {
		ms = append(ms, data.Measurement{Config: at(k), StepTime: .1 + .002*math.Log2(float64(k)), Status: data.OK})
	}
	fit := func(ms ...data.Measurement) *Model {
		m, err := Fit(context.Background(), ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	stopped := data.Measurement{Config: at(32), StepTime: 1, Status: data.Timeout}
	low := stopped
	low.StepTime = .05
	plain, same, bounded := fit(ms...), fit(append(ms, low)...), fit(append(ms, stopped)...)
	before, err := plain.Predict(at(32))
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := same.Predict(at(32)); p != before {
		t.Errorf("a bound of .05 s changes the prediction from %+v to %+v", before, p)
	}
	p, err := bounded.Predict(at(32))
	if err != nil || before.StepTime.Mean > .2 || p.StepTime.Mean < .8 || p.StepTime.Hi < 1 || p.StepTime.Hi > 20 {
		t.Errorf("at 32 workers %+v, %v, want at least a second; without the bound %+v", p.StepTime, err, before.StepTime)
	}
	if !p.Extrapolated || p.Support != 4 || len(bounded.Measurements("a100", data.AllReduce)) != 4 {
		t.Errorf("the bound counts as a measurement: %+v", p)
	}
	if p, _ := bounded.Predict(at(4)); math.Abs(p.StepTime.Mean/.104-1) > .1 {
		t.Errorf("at 4 workers %+v, measured .104 s", p.StepTime)
	}
	text, err := json.Marshal(bounded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(text, "job", 0)
	if err != nil {
		t.Fatal(err)
	}
	if q, _ := again.Predict(at(32)); q != p {
		t.Errorf("restored %+v, want %+v", q, p)
	}
}
