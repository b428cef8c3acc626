package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/bayesopt"
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

// run searches to the end, or for at most n trials.
func run(t *testing.T, s bayesopt.Strategy, cands []data.Config, n int, measure func(c data.Config, look int) data.Measurement) (bayesopt.History, []bayesopt.Suggestion) {
	t.Helper()
	h := bayesopt.History{Candidates: cands}
	looks := map[string]int{}
	var all []bayesopt.Suggestion
	for range n {
		next, err := s.Next(h)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, next)
		if next.Stop {
			break
		}
		key := next.Config.Key()
		if (looks[key] > 0) != next.Remeasure {
			t.Fatalf("%s was measured %d times, suggested with remeasure = %v", next.Config, looks[key], next.Remeasure)
		}
		looks[key]++
		h.Measured = append(h.Measured, measure(next.Config, looks[key]))
	}
	return h, all
}

// Whatever the results, no strategy suggests a candidate twice, a running one,
// or one outside the table; the same history gives the same suggestion.
func TestStrategyProperties(t *testing.T) {
	cands := table("a100", "t4")
	statuses := []data.Status{data.OK, data.OK, data.OK, data.OOM, data.Failed, data.Timeout, data.Infeasible}
	rapid.Check(t, func(t *rapid.T) {
		o := bayesopt.Options{Objective: rapid.SampledFrom(bayesopt.Objectives()).Draw(t, "objective"), Price: price,
			Seed:  rapid.Int64().Draw(t, "seed"),
			Noisy: rapid.Bool().Draw(t, "noisy")}
		s, err := NewStrategy(rapid.SampledFrom(Strategies()).Draw(t, "strategy"), o)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		h := bayesopt.History{Candidates: cands}
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

// The choice depends neither on the order of candidates nor on the unit of
// time.
func TestChoiceDoesNotDependOnOrderOrScale(t *testing.T) {
	cands := table("a100", "t4")
	shuffled := slices.Clone(cands)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, name := range []string{"guided", "gp-ei", "cherrypick"} {
		for _, scale := range []float64{1, 60} {
			sequence := func(cands []data.Config, scale float64) []string {
				s, err := NewStrategy(name, bayesopt.Options{Objective: bayesopt.CostToTarget, Price: price, Seed: 4})
				if err != nil {
					t.Fatal(err)
				}
				h, _ := run(t, s, cands, 8, func(c data.Config, _ int) data.Measurement {
					m := measure(c)
					m.StepTime *= scale
					return m
				})
				var keys []string
				for _, m := range h.Measured {
					keys = append(keys, m.Key())
				}
				return keys
			}
			want, got := sequence(cands, 1), sequence(shuffled, scale)
			// The random start depends on the order; only later choices must
			// not.
			if name != "gp-ei" && !slices.Equal(want, got) {
				t.Errorf("%s, scale %g:\n%v\n%v", name, scale, want, got)
			}
		}
	}
}

func TestStrategiesWithOneCandidateAndWithNothingButFailures(t *testing.T) {
	for _, name := range Strategies() {
		s, err := NewStrategy(name, bayesopt.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, all := run(t, s, table("t4")[:1], 3, func(c data.Config, _ int) data.Measurement { return measure(c) })
		if last := all[len(all)-1]; !last.Stop || len(all) != 2 {
			t.Errorf("%s: one candidate gives %d suggestions, the last %+v", name, len(all), last)
		}
		_, all = run(t, s, table("t4"), 30, func(c data.Config, _ int) data.Measurement {
			return data.Measurement{Config: c, Status: data.Failed}
		})
		if last := all[len(all)-1]; !last.Stop || last.Best != -1 && name == "guided" {
			t.Errorf("%s: all failed gives %d suggestions, the last %+v", name, len(all), last)
		}
		_, all = run(t, s, table("t4"), 30, func(c data.Config, _ int) data.Measurement {
			return data.Measurement{Config: c, Status: data.OK, StepTime: 0.25}
		})
		if len(all) < 2 {
			t.Errorf("%s: all equal gives %d suggestions", name, len(all))
		}
	}
}

// Unknown names are refused with the list of known ones; invalid options are
// refused.
func TestNewStrategyErrors(t *testing.T) {
	if _, err := NewStrategy("magic", bayesopt.Options{}); err == nil || !strings.Contains(err.Error(), "guided, random") {
		t.Errorf("unknown strategy: %v, want the known ones", err)
	}
	for _, name := range Strategies() {
		if _, err := NewStrategy(name, bayesopt.Options{Objective: "speed"}); err == nil {
			t.Errorf("%s accepts an unknown objective", name)
		}
	}
}

// A forest fits a step that a smooth model cannot, reproduces its data, and is
// uncertain where its trees differ.
func TestForestStep(t *testing.T) {
	var x [][]float64
	var y []float64
	for i := range 20 {
		v := float64(i) / 19
		x, y = append(x, []float64{v, 0.5}), append(y, 1.0)
		if v > 0.6 {
			y[i] = -1
		}
	}
	f := newForest(x, y, rand.New(rand.NewPCG(1, 2)))
	for v, want := range map[float64]float64{0.2: 1, 0.9: -1} {
		if m, _ := f.Predict([]float64{v, 0.5}); math.Abs(m-want) > 0.1 {
			t.Errorf("mean at %g is %g, want %g", v, m, want)
		}
	}
	_, far := f.Predict([]float64{0.1, 0.5})
	if _, near := f.Predict([]float64{0.6, 0.5}); near <= far {
		t.Errorf("variance at the step is %g, far from it %g: want more", near, far)
	}
}
