package speed_test

import (
	"context"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// What clean measurements of few sizes do not contradict stays possible:
// linear scaling, and Amdahl's law with a constant part.
func TestLimitsOfTheFormStayPossible(t *testing.T) {
	for _, c := range []struct {
		name     string
		constant float64 // s of a step that no worker takes from another
	}{
		{"linear scaling", 0},
		{"Amdahl's law", 1.5},
	} {
		step := func(workers int) float64 { return c.constant + 34.4/float64(workers) }
		config := func(workers int) data.Config {
			return data.Config{Job: "job", GPUType: "a100", Workers: workers, LocalBatch: 2048 / float64(workers)}
		}
		var ms []data.Measurement
		for _, k := range []int{1, 2, 4} {
			ms = append(ms, data.Measurement{Config: config(k), StepTime: step(k), Status: data.OK})
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{8, 16, 32} {
			p, err := m.Predict(config(k))
			if err != nil {
				t.Fatal(err)
			}
			if want := step(k); p.StepTime.Lo > want || p.StepTime.Hi < want {
				t.Errorf("%s: %d workers: step time from %.3g to %.3g s, which leaves out %.3g s", c.name, k, p.StepTime.Lo, p.StepTime.Hi, want)
			}
		}
	}
}
