package bayesopt

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
)

// Of a known budget at most a quarter goes into looking again, and nothing if
// that is not wanted.
func TestRepeatsAreBounded(t *testing.T) {
	cands := table("a100", "t4")
	for name, tc := range map[string]struct {
		options Options
		most    int
	}{
		"a budget of 12": {Options{Trials: 12}, 3},
		"a budget of 3":  {Options{Trials: 3}, 0},
		"once":           {Options{Once: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Objective, tc.options.Price, tc.options.Noisy = CostToTarget, price, true
			asked := 0
			for seed := range int64(6) {
				tc.options.Seed = seed
				s, err := NewGuided(tc.options)
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(uint64(seed), 9))
				_, all := run(t, s, cands, 12, func(c data.Config, _ int) data.Measurement {
					m := measure(c)
					m.StepTime *= math.Exp(0.2 * rng.NormFloat64())
					return m
				})
				again := 0
				for _, next := range all {
					if next.Remeasure {
						again++
					}
				}
				if again > tc.most {
					t.Errorf("seed %d: %d of %d trials look again, want at most %d", seed, again, len(all), tc.most)
				}
				asked += again
			}
			if tc.most > 0 && asked == 0 {
				t.Error("nothing is ever looked at again")
			}
		})
	}
}
