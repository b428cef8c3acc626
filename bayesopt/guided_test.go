package bayesopt

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/data"
)

// table is a grid of candidates with a simulated step time.
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

// The guided search finds the best of the table, stops, and gives a reason.
func TestGuidedFindsBestAndStops(t *testing.T) {
	cands := table("a100", "t4")
	for _, objective := range []Objective{Throughput, Goodput, StepTime, CostToTarget} {
		o := Options{Objective: objective, Price: price, Seed: 3, Efficiency: func(b float64) float64 { return 1 / (1 + b/500) }}
		s, err := NewGuided(o)
		if err != nil {
			t.Fatal(err)
		}
		o, _ = o.Validate()
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
				if len(h.Measured) < minRecord || !strings.Contains(next.Reason, "remaining regret") {
					t.Errorf("%s: stopped after %d: %s", objective, len(h.Measured), next.Reason)
				}
				break
			}
			h.Measured = append(h.Measured, measure(next.Config))
			found = min(found, math.Log(stepTime(next.Config))+offset[next.Index])
			if n := len(h.Measured); n == 8 && (next.Choice.Workers == 0 || !strings.HasPrefix(next.Answer, "best is "+next.Choice.String()+"; something is better by 5 %")) {
				t.Errorf("%s: after %d trials %q, best %s", objective, n, next.Answer, next.Choice)
			}
		}
		if len(h.Measured) > 25 || found > best+0.05 {
			t.Errorf("%s: %d trials, %.1f %% off the best", objective, len(h.Measured), 100*(found-best))
		}
	}
}

// known is a form without parameters.
func known([]data.Measurement) (func(data.Config) (float64, bool), error) {
	return func(c data.Config) (float64, bool) { return math.Log(stepTime(c)), true }, nil
}

// With an exact prior mean the first guided trial is the best candidate.
func TestParametricMean(t *testing.T) {
	cands := table("a100")
	o := Options{Seed: 1, Forms: []MeanForm{known}}
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

// Measurements outside the table alone, as of a study narrowed later, tell which
// of the table is fast.
func TestGuidedLearnsOutsideTheTable(t *testing.T) {
	all := table("a100")
	s, err := NewGuided(Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var h History
	for _, c := range all {
		if c.LocalBatch == 64 {
			h.Measured = append(h.Measured, measure(c))
		} else {
			h.Candidates = append(h.Candidates, c)
		}
	}
	next, err := s.Next(h)
	if err != nil {
		t.Fatal(err)
	}
	if next.Config.Workers < 8 || next.Config.LocalBatch != 128 {
		t.Errorf("suggested %s, want many workers and the largest batch: %s", next.Config, next.Reason)
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
	for _, o := range []Options{{Objective: "speed"}, {Objective: CostToTarget}, {TargetRegret: 1}, {Work: math.NaN()}} {
		if _, err := NewGuided(o); err == nil {
			t.Errorf("options %+v are accepted", o)
		}
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
