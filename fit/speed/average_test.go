package speed_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// Linear scaling, and Amdahl's law with a constant part, stay possible if a few
// clean measurements agree with them.
func TestLimitsOfTheFormStayPossible(t *testing.T) {
	for _, c := range []struct {
		name     string
		constant float64 // s of a step independent of the workers
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

// If more workers did not shorten steps at a fixed global batch, further ones
// are not predicted to.
func TestFlatStepsStayFlat(t *testing.T) {
	for name, times := range map[string][2]float64{"launches bound": {.0353, .0349}, "the network binds": {.148, .353}} {
		at := func(workers int) data.Config {
			return data.Config{Job: "job", GPUType: "a100", Workers: workers, Nodes: workers / 8, LocalBatch: 920 / float64(workers)}
		}
		m, err := speed.Fit(context.Background(), []data.Measurement{
			{Config: at(8), StepTime: times[0], Status: data.OK}, {Config: at(16), StepTime: times[1], Status: data.OK},
		}, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(at(128))
		if err != nil {
			t.Fatal(err)
		}
		if p.StepTime.Mean < times[1]/2 {
			t.Errorf("%s: 8 workers take %g s and 16 take %g s, but 128 are to take %.3g s (%.3g to %.3g)", name, times[0], times[1], p.StepTime.Mean, p.StepTime.Lo, p.StepTime.Hi)
		}
	}
}

// Predictions from one GPU spread widely, which takes more draws; a model with
// both kinds gives as many for every configuration.
func TestWidePredictionsHaveMoreDraws(t *testing.T) {
	var one, many []data.Measurement
	for _, b := range []float64{16, 32, 64} {
		for _, k := range []int{1, 2, 4, 8, 16} {
			c := data.Config{Job: "job", GPUType: "t4", Mode: data.PSSync, Workers: k, PS: 1 + len(many)%4, LocalBatch: b}
			many = append(many, data.Measurement{Config: c, StepTime: .01 + .002*b + .001*math.Log2(float64(k)), Status: data.OK})
		}
		c := data.Config{Job: "job", GPUType: "t4", Mode: data.AllReduce, Workers: 1, LocalBatch: b}
		one = append(one, data.Measurement{Config: c, StepTime: .01 + .002*b, Status: data.OK})
	}
	for _, c := range []struct {
		rows []data.Measurement
		want int
	}{{one, 256}, {many, 128}, {slices.Concat(one, many), 256}} {
		m, err := speed.Fit(context.Background(), c.rows, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		var cs []data.Config
		for _, r := range c.rows {
			cs = append(cs, r.Config)
		}
		draws, _, _, err := m.Draws(cs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range cs {
			if len(draws[i]) != c.want {
				t.Errorf("%s among %d rows: %d draws, want %d", cs[i], len(c.rows), len(draws[i]), c.want)
			}
		}
	}
}

// Parameter servers whose exchange takes no time leave it possible that no number
// of workers slows them, and that steps take as long as their batch.
func TestServersWithoutExchange(t *testing.T) {
	step := func(workers int, batch float64) float64 {
		return .002 * batch * (1 + .01*math.Sin(float64(3*workers)))
	}
	at := func(workers, servers int, batch float64) data.Config {
		return data.Config{Job: "job", GPUType: "v100", Mode: data.PSSync, Workers: workers, PS: servers, LocalBatch: batch}
	}
	var ms []data.Measurement
	for _, c := range [][2]int{{1, 1}, {2, 1}, {4, 2}, {8, 2}} {
		ms = append(ms, data.Measurement{Config: at(c[0], c[1], 32), StepTime: step(c[0], 32), Status: data.OK})
	}
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []data.Config{at(64, 16, 32), at(8, 2, 64)} {
		p, err := m.Predict(c)
		if err != nil {
			t.Fatal(err)
		}
		if want := step(c.Workers, c.LocalBatch); p.StepTime.Lo > want || p.StepTime.Hi < want {
			t.Errorf("%v: %v, want %.3g inside", c, p.StepTime, want)
		}
	}
}
