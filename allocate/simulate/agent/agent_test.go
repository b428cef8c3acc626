package agent

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

var limits = Limits{Initial: 128, Max: 4096, LocalMin: 32, LocalMax: 1024}

// truth is a job that follows the equations of Pollux.
func truth(k Key) (step, compute float64) {
	compute = 0.05 + 5e-4*k.Local
	beyond := math.Max(0, float64(k.Workers)-2)
	sync := 0.0
	switch {
	case k.Nodes > 1:
		sync = 0.08 + 0.004*beyond
	case k.Workers > 1:
		sync = 0.02 + 0.002*beyond
	}
	return math.Pow(math.Pow(compute, 1.5)+math.Pow(sync, 1.5), 1/1.5), compute
}

// observe makes observations of the truth.
func observe(keys ...Key) []Observation {
	var out []Observation
	for _, k := range keys {
		step, compute := truth(k)
		out = append(out, Observation{k, step, step - compute})
	}
	return out
}

// spread is enough to tell all parameters apart.
var spread = []Key{
	{1, 1, 64}, {1, 1, 512}, {1, 2, 64}, {1, 2, 256}, {1, 4, 128}, {1, 4, 1024},
	{2, 2, 64}, {2, 4, 256}, {2, 8, 128}, {4, 16, 512}, {4, 16, 32}, {3, 12, 1024},
}

// TestFitFollowsTheForm: the fit predicts configurations it has not seen, of a
// job that follows the form.
func TestFitFollowsTheForm(t *testing.T) {
	s := fit(limits, observe(spread...))
	for _, k := range []Key{{1, 3, 200}, {2, 6, 300}, {4, 12, 64}} {
		want, _ := truth(k)
		got, _ := s.Times(k)
		if math.Abs(got/want-1) > 0.05 {
			t.Errorf("%v takes %.4f s, want %.4f", k, got, want)
		}
	}
}

// TestFitNeverBreaks: any positive observations give finite, positive times.
func TestFitNeverBreaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var obs []Observation
		for range rapid.IntRange(1, 6).Draw(t, "observations") {
			workers := rapid.IntRange(1, 32).Draw(t, "workers")
			step := math.Exp(rapid.Float64Range(-7, 5).Draw(t, "log step"))
			obs = append(obs, Observation{Key{rapid.IntRange(1, workers).Draw(t, "nodes"), workers, float64(rapid.IntRange(1, 2000).Draw(t, "local"))},
				step, step * rapid.Float64Range(0, 0.99).Draw(t, "sync")})
		}
		last := fit(limits, obs)
		for _, k := range spread {
			step, compute := last.Times(k)
			if !(compute > 0) || !(step >= compute*(1-1e-9)) || math.IsInf(step, 0) {
				t.Fatalf("%+v takes %g s, %g of it computing, at %v", *last, step, compute, k)
			}
		}
	})
}

// TestChoicesKeepLimits: every batch a free job may choose is allowed but for
// rounding up.
func TestChoicesKeepLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 64).Draw(t, "workers")
		for _, c := range limits.Choices(k) {
			if c.Accum < 0 || c.Local < 1 || c.Local > limits.LocalMax || c.Batch(k) < limits.Initial {
				t.Fatalf("%d workers may take %+v", k, c)
			}
			if k == 1 && c.Local > limits.Initial && c.Accum == 0 {
				t.Fatalf("a lone worker takes %+v without a second gradient", c)
			}
		}
	})
}

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		total    float64
		k        int
		max, b0  float64
		want     Choice
		wantFull float64
	}{
		{2048, 6, 1024, 128, Choice{342, 0}, 2052}, // rounded up
		{2048, 1, 1024, 128, Choice{1024, 1}, 2048},
		{256, 1, 1024, 128, Choice{128, 1}, 256}, // a second gradient
		{128, 1, 1024, 128, Choice{128, 0}, 128},
	} {
		if got := Divide(tt.total, tt.k, tt.max, tt.b0); got != tt.want || got.Batch(tt.k) != tt.wantFull {
			t.Errorf("%g over %d: %+v, want %+v", tt.total, tt.k, got, tt.want)
		}
	}
}

func ExampleAgent() {
	a := &Agent{Limits: limits, Speeds: &Speeds{}}
	for _, o := range observe(spread...) {
		a.Observe(o)
	}
	a.ObserveGradient(1, 20)
	c, g := a.Best(1, 4)
	fmt.Printf("4 workers on a node: local batch %g, %d samples/s of progress\n", c.Local, int(g/100)*100)
	// Output:
	// 4 workers on a node: local batch 268, 4100 samples/s of progress
}
