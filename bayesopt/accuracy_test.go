package bayesopt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// The expected variance reduction equals that of conditioning on one more
// observation of the candidate.
func TestVarianceReductionIsTheVarianceTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		coordinate := rapid.Float64Range(0, 1)
		point := func() []float64 { return []float64{coordinate.Draw(t, "x"), coordinate.Draw(t, "y")} }
		var x, targets [][]float64
		var y []float64
		for range rapid.IntRange(1, 6).Draw(t, "n") {
			x, y = append(x, point()), append(y, rapid.Float64Range(-1, 1).Draw(t, "response"))
		}
		for range 4 {
			targets = append(targets, point())
		}
		candidate := point()
		h := Hyper{LogLength: []float64{-.5, .3}, LogNugget: -3}
		g, err := NewGP(x, y, .4, h)
		if err != nil {
			t.Fatal(err)
		}
		after, err := NewGP(append(slices.Clone(x), candidate), append(slices.Clone(y), 0), .4, h)
		if err != nil {
			t.Fatal(err)
		}
		var at []whitened
		want := 0.0
		for _, p := range targets {
			_, _, w := g.predict(p, nil)
			at = append(at, w)
			_, before := g.Predict(p)
			_, left := after.Predict(p)
			want += (before - left) / float64(len(targets))
		}
		_, _, w := g.predict(candidate, nil)
		if got := g.reduction(w, at); math.Abs(got-want) > 1e-8 {
			t.Fatalf("reduction = %g, conditioning anew takes %g", got, want)
		}
	})
}

// With equally many trials, accuracy predicts a table better than random
// trials.
func TestAccuracyCoversBetterThanRandom(t *testing.T) {
	var table []data.Config
	truth := map[string]float64{}
	for _, k := range []int{1, 2, 3, 4, 6, 8, 12, 16} {
		for _, b := range []float64{16, 32, 64, 128, 256} {
			c := data.Config{Job: "j", GPUType: "t4", Workers: k, LocalBatch: b}
			table = append(table, c)
			truth[c.Key()] = .02 + .001*b + .01*math.Pow(float64(k-1), .6)
		}
	}
	const trials = 9
	missed := func(guided bool, seed int64) float64 {
		s, err := NewGuided(Options{Objective: Accuracy, Seed: seed, KeepGoing: true, Price: func(data.Config) float64 { return 1 }})
		if err != nil {
			t.Fatal(err)
		}
		h := History{Candidates: table}
		order := rand.New(rand.NewPCG(uint64(seed), 5)).Perm(len(table))
		for n := range trials {
			next, err := s.Next(h)
			if err != nil {
				t.Fatal(err)
			}
			if !guided {
				next.Config = table[order[n]]
			}
			h.Measured = append(h.Measured, data.Measurement{Config: next.Config, StepTime: truth[next.Config.Key()], Status: data.OK, Wall: 60})
		}
		return surfaceError(t, h, truth)
	}
	wins := 0
	const seeds = 8
	for seed := range int64(seeds) {
		if missed(true, seed) < missed(false, seed) {
			wins++
		}
	}
	if wins < 6 {
		t.Errorf("after %d trials accuracy knows the table better than random in %d of %d seeds, want at least 6", trials, wins, seeds)
	}
}

// surfaceError is the mean absolute error of ln step time over the table, with
// the same Gaussian process for every strategy.
func surfaceError(t *testing.T, h History, truth map[string]float64) float64 {
	t.Helper()
	o, err := Options{Objective: Accuracy}.Validate()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(o, h)
	if err != nil {
		t.Fatal(err)
	}
	x, left, _, _ := p.residuals()
	post, err := averageOver(x, left, nil, nil, Prior{}, averageKeep, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, c := range h.Candidates {
		m, _ := p.belief(post, i).Moments()
		sum += math.Abs(m - math.Log(truth[c.Key()]))
	}
	return sum / float64(len(h.Candidates))
}

// Under accuracy no configuration is called the best.
func TestAccuracyNamesNoBest(t *testing.T) {
	c := data.Config{Job: "j", Workers: 1, LocalBatch: 8}
	h := History{Candidates: []data.Config{c}, Measured: []data.Measurement{{Config: c, StepTime: 1, Status: data.OK}}}
	for objective, named := range map[Objective]bool{Accuracy: false, Throughput: true} {
		s, err := NewGuided(Options{Objective: objective})
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.Next(h)
		if err != nil || !next.Stop || strings.Contains(next.Reason, "best is") != named || strings.Contains(next.Reason, "regret") != named {
			t.Errorf("%s: %q, %v; want a best named: %v", objective, next.Reason, err, named)
		}
	}
}
