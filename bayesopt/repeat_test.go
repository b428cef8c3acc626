package bayesopt

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"knee/data"
)

// At most a quarter of a known budget goes to repetitions, none if Once is set.
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

// Where every candidate is measured, noisy measurements are repeated while the budget
// lasts and that helps, and the regret that is left is said.
func TestRepeatsWithoutOtherCandidates(t *testing.T) {
	cands := table("t4")[:3]
	s, err := NewGuided(Options{Objective: StepTime, Noisy: true, Trials: 24, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	_, all := run(t, s, cands, 24, func(c data.Config, _ int) data.Measurement {
		return data.Measurement{Config: c, Status: data.OK, StepTime: math.Exp(.15 * rng.NormFloat64())}
	})
	last := all[len(all)-1]
	if len(all) < 9 || last.Stop && strings.Contains(last.Reason, "regret 0 %") {
		t.Errorf("%d decisions for three candidates of equal speed with noise of 15 %%, the last: %+v", len(all), last)
	}

	h := History{Candidates: cands}
	for _, c := range cands {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OOM})
	}
	if next, err := s.Next(h); err != nil || !next.Stop || strings.Contains(next.Reason, "regret") {
		t.Errorf("where nothing fits: %+v, %v", next, err)
	}
}

// Repetitions go to one of two nearly equal candidates, the one measured less,
// and hardly to a clear winner.
func TestMostTelling(t *testing.T) {
	cands := table("t4")
	const first, rival = 2, 9
	telling := func(rivalTime float64, looks int) (int, float64) {
		h := History{Candidates: cands}
		add := func(i int, seconds float64) {
			h.Measured = append(h.Measured, data.Measurement{Config: cands[i], Status: data.OK, StepTime: seconds})
		}
		for i := range 12 {
			switch i {
			case first:
				for k := range looks { // they differ by 4 %
					add(i, 1+.04*float64((k+1)%3-1))
				}
			case rival:
				add(i, rivalTime)
			default:
				add(i, 3)
			}
		}
		o, err := Options{Objective: StepTime, Noisy: true, Seed: 1}.Validate()
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewProblem(o, h)
		if err != nil {
			t.Fatal(err)
		}
		post, err := p.learn()
		if err != nil {
			t.Fatal(err)
		}
		return p.mostTelling(post)
	}
	pick, near := telling(1.03, 1)
	if pick != first && pick != rival || near < .001 {
		t.Errorf("picks %d for %g, want one of the two that are nearly as good", pick, near)
	}
	if pick, _ := telling(1.03, 5); pick != rival {
		t.Errorf("picks %d, want the rival of what was looked at often", pick)
	}
	if _, clear := telling(3, 1); clear > near/3 {
		t.Errorf("a look at a clear winner is worth %g, at two of a kind %g", clear, near)
	}
}

// A batch that is a third faster than similar ones is the best once three runs agree:
// they share an effect of it, whose variance is no noise of runs.
func TestRepetitionsThatAgreeShareAnEffect(t *testing.T) {
	var cands []data.Config
	for b := 16.; b <= 256; b += 4 {
		cands = append(cands, data.Config{Workers: 8, LocalBatch: b})
	}
	h := History{Candidates: cands}
	add := func(batch, seconds float64) {
		h.Measured = append(h.Measured, data.Measurement{Config: data.Config{Workers: 8, LocalBatch: batch}, Status: data.OK, StepTime: seconds, StepTimeSE: .003 * seconds})
	}
	for i, batch := range []float64{16, 72, 112, 148, 236, 204, 188, 180, 228, 220, 212, 196} {
		add(batch, (.02+.00175*batch)*(1+.02*float64(i%3-1)))
	}
	for k := range 3 {
		add(192, (.02+.00175*192)*(.7+.004*float64(k)))
	}
	p := mustProblem(t, Options{Noisy: true, Seed: 1}, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	special := p.index[data.Config{Workers: 8, LocalBatch: 192}.Key()]
	mean, sd := p.belief(post, special).Moments()
	if miss := mean - p.best; p.Favourite(post) != special || math.Abs(miss) > .1 || sd > .1 {
		t.Errorf("the best is %v, batch 192 expected %.3f nats off its measurements ± %.3f; want that batch and .1", cands[p.Favourite(post)], miss, sd)
	}
}

// Without noise, an input that was observed twice shows some: what is predicted elsewhere
// changes little, while a noise of zero would favour the draws that explain least.
func TestRepetitionsShowNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	at := func() []float64 { return []float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()} }
	truth := func(x []float64) float64 { return math.Sin(3*x[0]) + x[1]*x[2] - x[3] }
	var x, held [][]float64
	var y []float64
	for range 12 {
		x = append(x, at())
		y = append(y, truth(x[len(x)-1]))
	}
	for range 40 {
		held = append(held, at())
	}
	miss := func() (square float64) {
		post, err := AverageGP(x, y, Prior{Effects: true, Jumps: true}, 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range held {
			mean, _ := post.Predict(h).Moments()
			square += (mean - truth(h)) * (mean - truth(h))
		}
		return square
	}
	once := miss()
	for i := range 4 {
		x, y = append(x, x[i]), append(y, y[i]+.03)
	}
	if twice := miss(); twice > 2*once {
		t.Errorf("the squared error grows from %.3g to %.3g", once, twice)
	}
}
