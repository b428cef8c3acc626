package bayesopt

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
)

// table is a grid of candidates with a made-up but plausible step time.
func table(types ...string) []data.Config {
	var cands []data.Config
	for _, g := range types {
		for _, k := range []int{1, 2, 4, 8, 16} {
			for _, b := range []float64{16, 32, 64, 128} {
				cands = append(cands, data.Config{GPUType: g, Workers: k, Nodes: (k + 3) / 4, LocalBatch: b})
			}
		}
	}
	return cands
}

// stepTime has a compute part, and a network part that grows with nodes.
func stepTime(c data.Config) float64 {
	speed := map[string]float64{"a100": 4, "t4": 1}[c.GPUType]
	return 0.02 + c.LocalBatch/(300*speed) + 0.03*math.Log2(float64(c.Workers)) + 0.1*float64(c.NodeCount()-1)
}

func price(c data.Config) float64 {
	return float64(c.Workers) * map[string]float64{"a100": 3, "t4": 0.5}[c.GPUType]
}

func measure(c data.Config) data.Measurement {
	return data.Measurement{Config: c, Status: data.OK, StepTime: stepTime(c), Wall: 60, PricePerHour: price(c)}
}

// Whatever happens to the trials, no strategy suggests a candidate twice, one
// that runs, or one outside the table; and the same history gives the same
// suggestion.
func TestStrategyProperties(t *testing.T) {
	cands := table("a100", "t4")
	statuses := []data.Status{data.OK, data.OK, data.OK, data.OOM, data.Failed, data.Timeout, data.Infeasible}
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Objective: rapid.SampledFrom(Objectives()).Draw(t, "objective"), Price: price,
			Seed: rapid.Int64().Draw(t, "seed"), Initial: rapid.IntRange(0, 4).Draw(t, "initial"),
			Acquisition: rapid.SampledFrom(Acquisitions()).Draw(t, "acquisition"), Noisy: rapid.Bool().Draw(t, "noisy")}
		s, err := NewStrategy(rapid.SampledFrom(Strategies()).Draw(t, "strategy"), o)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		h := History{Candidates: cands}
		for n := range rapid.IntRange(1, 9).Draw(t, "trials") {
			next, err := s.Next(h)
			if err != nil {
				t.Fatal(err)
			}
			again, err := s.Next(h)
			if diff := cmp.Diff(next, again); err != nil || diff != "" {
				t.Fatalf("same history, other suggestion: %v\n%s", err, diff)
			}
			if next.Reason == "" {
				t.Fatal("suggestion without a reason")
			}
			if next.Stop {
				return
			}
			key := next.Config.Key()
			if next.Index < 0 || next.Index >= len(cands) || cands[next.Index].Key() != key || keys[key] && !next.Remeasure {
				t.Fatalf("trial %d: %s (index %d) is not a fresh candidate", n, next.Config, next.Index)
			}
			if e := next.Expected; !(e.Lo <= e.Mean && e.Mean <= e.Hi) || math.IsInf(e.Hi, 0) {
				t.Fatalf("expected %+v is not an interval", e)
			}
			if next.PFeasible < 0 || next.PFeasible > 1 || !(next.Cost > 0) {
				t.Fatalf("p_feasible %g, cost %g", next.PFeasible, next.Cost)
			}
			keys[key] = true
			if rapid.Bool().Draw(t, "running") {
				h.Running = append(h.Running, next.Config)
				continue
			}
			m := measure(next.Config)
			if m.Status = rapid.SampledFrom(statuses).Draw(t, "status"); m.Status != data.OK {
				m.StepTime = 0
			}
			h.Measured = append(h.Measured, m)
		}
	})
}

// The guided search finds the best of the table, stops, and says why.
func TestGuidedFindsBestAndStops(t *testing.T) {
	cands := table("a100", "t4")
	for _, objective := range []Objective{Throughput, Goodput, StepTime, CostToTarget} {
		for _, hyper := range []string{"average", "map"} {
			o := Options{Objective: objective, Price: price, Seed: 3, Hyper: hyper, Efficiency: func(b float64) float64 { return 1 / (1 + b/500) }}
			s, err := NewGuided(o)
			if err != nil {
				t.Fatal(err)
			}
			o, _ = o.validate()
			offset, _ := o.offsets(cands)
			best, found := math.Inf(1), math.Inf(1)
			for i, c := range cands {
				best = min(best, math.Log(stepTime(c))+offset[i])
			}
			h := History{Candidates: cands}
			for {
				next, err := s.Next(h)
				if err != nil {
					t.Fatal(err)
				}
				if next.Stop {
					if len(h.Measured) < stopTrials || !strings.Contains(next.Reason, "remaining regret") {
						t.Errorf("%s, %s: stopped after %d: %s", objective, hyper, len(h.Measured), next.Reason)
					}
					break
				}
				h.Measured = append(h.Measured, measure(next.Config))
				found = min(found, math.Log(stepTime(next.Config))+offset[next.Index])
			}
			if len(h.Measured) > 25 || found > best+0.05 {
				t.Errorf("%s, %s: %d trials, %.1f %% off the best", objective, hyper, len(h.Measured), 100*(found-best))
			}
		}
	}
}

// A perfect parametric mean leaves nothing to learn: the first guided trial is
// the best candidate.
func TestParametricMean(t *testing.T) {
	cands := table("a100")
	o := Options{Seed: 1, Mean: func(c data.Config) (float64, bool) { return math.Log(stepTime(c)), true }}
	s, err := NewGuided(o)
	if err != nil {
		t.Fatal(err)
	}
	h := History{Candidates: cands, Measured: []data.Measurement{measure(cands[0]), measure(cands[1]), measure(cands[2])}}
	next, err := s.Next(h)
	if err != nil {
		t.Fatal(err)
	}
	if want := cands[len(cands)-1]; next.Stop || next.Config.Key() != want.Key() {
		t.Errorf("suggested %s, want %s", next.Config, want)
	}
}

func TestStartIsCheapAndCoversModes(t *testing.T) {
	var cands []data.Config
	for _, m := range data.Modes() {
		for _, c := range table("t4") {
			c.Mode = m
			if m.UsesPS() {
				c.PS = 1
			}
			cands = append(cands, c)
		}
	}
	s, err := NewGuided(Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	h := History{Candidates: cands}
	modes := map[data.Mode]bool{}
	for n := range 3 {
		next, err := s.Next(h)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && next.Config.Workers != 1 {
			t.Errorf("first trial %s is not the cheapest", next.Config)
		}
		modes[next.Config.ModeOrDefault()] = true
		h.Measured = append(h.Measured, measure(next.Config))
		h.Measured[n].StepTime = 0.1
	}
	if len(modes) != 3 {
		t.Errorf("three trials cover modes %v, want all three", modes)
	}
}

func TestMemoryRules(t *testing.T) {
	at := func(workers int, batch float64) data.Config {
		return data.Config{GPUType: "t4", Workers: workers, LocalBatch: batch}
	}
	oom := func(c data.Config) data.Measurement { return data.Measurement{Config: c, Status: data.OOM} }
	accum := at(4, 64)
	accum.AccumSteps = 2
	other := at(4, 128)
	other.GPUType = "a100"
	knob := at(2, 128)
	knob.Extra = map[string]string{"precision": "fp16"}
	for _, c := range []struct {
		name     string
		measured []data.Measurement
		config   data.Config
		want     bool
	}{
		{"larger batch", []data.Measurement{oom(at(4, 64))}, at(4, 128), true},
		{"smaller batch", []data.Measurement{oom(at(4, 64))}, at(4, 32), false},
		{"fewer workers", []data.Measurement{oom(at(4, 64))}, at(2, 64), true},
		{"more workers may shard", []data.Measurement{oom(at(4, 64))}, at(8, 64), false},
		{"more workers did not help", []data.Measurement{oom(at(4, 64)), oom(at(8, 64))}, at(16, 64), true},
		{"more workers helped", []data.Measurement{oom(at(4, 64)), oom(at(8, 64)), measure(at(32, 64))}, at(16, 64), false},
		{"accumulation needs more", []data.Measurement{oom(at(4, 64))}, accum, true},
		{"without accumulation less", []data.Measurement{oom(accum)}, at(4, 64), false},
		{"other gpu type", []data.Measurement{oom(at(4, 64))}, other, false},
		{"other knob", []data.Measurement{oom(at(4, 64))}, knob, false},
		{"unknown batch", []data.Measurement{oom(at(4, 0))}, at(4, 128), false},
	} {
		var r memoryRules
		for _, m := range c.measured {
			r.learn(m)
		}
		if got := r.excludes(c.config); got != c.want {
			t.Errorf("%s: excludes = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestGuidedErrors(t *testing.T) {
	twin := table("t4")
	twin = append(twin, twin[3])
	twin[len(twin)-1].Job = "other"
	for name, c := range map[string]struct {
		h    History
		want string
	}{
		"no candidates":  {History{}, "at least one configuration"},
		"equal features": {History{Candidates: twin}, "candidates 4 (1 × t4, allreduce, batch 128) and 21"},
		"no step time": {History{Candidates: table("t4"), Measured: []data.Measurement{
			{Config: table("t4")[0], Status: data.OK, Source: data.Source{File: "m.csv", Line: 3}}}}, "m.csv:3:step_time_s"},
		"no workers": {History{Candidates: []data.Config{{Workers: 0}, {Workers: 1}}}, "workers"},
	} {
		s, err := NewGuided(Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Next(c.h)
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want an InputError with %q", name, err, c.want)
		}
	}
	for _, o := range []Options{{Objective: "speed"}, {Objective: CostToTarget}, {Initial: -1}, {Acquisition: "x"}, {Hyper: "x"}, {Work: math.NaN()}} {
		if _, err := NewStrategy("knee", o); err == nil {
			t.Errorf("options %+v are accepted", o)
		}
	}
	if _, err := NewStrategy("magic", Options{}); err == nil || !strings.Contains(err.Error(), "knee, random") {
		t.Errorf("unknown strategy: %v, want the known ones", err)
	}
}

func ExampleGuided() {
	var candidates []data.Config
	for _, workers := range []int{1, 2, 4, 8, 16} {
		for _, batch := range []float64{32, 64, 128} {
			candidates = append(candidates, data.Config{GPUType: "t4", Workers: workers, LocalBatch: batch})
		}
	}
	guided, err := NewGuided(Options{Objective: Throughput, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	history := History{Candidates: candidates}
	for {
		next, err := guided.Next(history)
		if err != nil {
			fmt.Println(err)
			return
		}
		if next.Stop {
			fmt.Println(len(history.Measured) < len(candidates), "best:", next.Config)
			return
		}
		// Launch the trial here; this one takes longer with more workers.
		c := next.Config
		seconds := 0.05 + c.LocalBatch/400 + 0.02*float64(c.Workers)
		history.Measured = append(history.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: seconds})
	}
	// Output:
	// true best: 16 × t4, allreduce, batch 128
}
