package bayesopt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

// run searches to the end, or for at most n trials.
func run(t *testing.T, s Strategy, cands []data.Config, n int, measure func(c data.Config, look int) data.Measurement) (History, []Suggestion) {
	t.Helper()
	h := History{Candidates: cands}
	looks := map[string]int{}
	var all []Suggestion
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

// The search finds the best configuration that meets the deadline, as the
// cheapest is too slow; if none does, it says so.
func TestDeadline(t *testing.T) {
	cands := table("a100", "t4")
	const work = 1e6
	finish := func(c data.Config) float64 { return work * stepTime(c) / c.GlobalBatch() }
	cost := func(c data.Config) float64 { return price(c) * finish(c) }
	const deadline = 900.0
	best, cheapest := math.Inf(1), math.Inf(1)
	for _, c := range cands {
		cheapest = min(cheapest, cost(c))
		if finish(c) <= deadline {
			best = min(best, cost(c))
		}
	}
	if !(best > 1.05*cheapest) {
		t.Fatalf("the deadline does not bind: %g against %g", best, cheapest)
	}
	s, err := NewGuided(Options{Objective: CostToTarget, Price: price, Work: work, Deadline: deadline, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	h, all := run(t, s, cands, 30, func(c data.Config, _ int) data.Measurement { return measure(c) })
	last := all[len(all)-1]
	if !last.Stop || last.Best < 0 || finish(cands[last.Best]) > deadline || cost(cands[last.Best]) > 1.05*best {
		t.Errorf("after %d trials: %+v, cost %g, want %g", len(h.Measured), last, cost(last.Config), best)
	}
	// What misses the deadline, however cheap, is not repeated.
	o := s.Options
	o.Noisy = true
	p := mustProblem(t, o, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	of, _, _ := p.looked(post)
	if late := slices.IndexFunc(of, func(i int) bool { return finish(cands[i]) > 1.2*deadline }); late >= 0 || len(of) < 2 {
		t.Errorf("%d trials may be repeated, among them %s, which misses the deadline", len(of), cands[of[max(late, 0)]])
	}
	s, err = NewGuided(Options{Objective: CostToTarget, Price: price, Work: work, Deadline: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, all = run(t, s, cands, 41, func(c data.Config, _ int) data.Measurement { return measure(c) })
	if last := all[len(all)-1]; !last.Stop || last.Best != -1 || len(all) > 25 || !strings.Contains(last.Reason, "deadline of 1 s") {
		t.Errorf("after %d: %+v, want a stop for the deadline", len(all), last)
	}
	if reason := all[startTrials].Reason; !strings.Contains(reason, "nothing measured is in time, this one with a probability of ") {
		t.Errorf("reason %q, want that nothing is in time", reason)
	}
}

// exact is the true form up to a fitted factor.
type exact struct{ wrong bool }

func (e exact) Fit(ms []data.Measurement) (func(data.Config) (float64, bool), error) {
	if len(ms) < 2 {
		return nil, nil
	}
	var off float64
	for _, m := range ms {
		off += math.Log(m.StepTime/stepTime(m.Config)) / float64(len(ms))
	}
	return func(c data.Config) (float64, bool) {
		if e.wrong {
			return off - 2*math.Log(c.LocalBatch), true
		}
		return off + math.Log(stepTime(c)), true
	}, nil
}

// A correct form leads to the best at once; the evidence rejects a wrong one.
func TestForms(t *testing.T) {
	cands := table("a100", "t4")
	best := 0
	for i, c := range cands {
		if c.GlobalBatch()/stepTime(c) > cands[best].GlobalBatch()/stepTime(cands[best]) {
			best = i
		}
	}
	for _, c := range []struct {
		form  exact
		limit int
	}{{exact{}, 5}, {exact{wrong: true}, 20}} {
		s, err := NewGuided(Options{Objective: Throughput, Seed: 1, KeepGoing: true, Forms: []MeanForm{c.form.Fit}})
		if err != nil {
			t.Fatal(err)
		}
		h, _ := run(t, s, cands, c.limit, func(c data.Config, _ int) data.Measurement {
			m := measure(c)
			m.StepTime *= 3 // another machine: the factor has to be fitted
			return m
		})
		if !slices.ContainsFunc(h.Measured, func(m data.Measurement) bool { return m.Key() == cands[best].Key() }) {
			t.Errorf("%+v: the best was not tried in %d trials", c.form, c.limit)
		}
	}
}

// With noise the search repeats measurements, says so, and names the best more
// often than the minimum of single measurements.
func TestRemeasurement(t *testing.T) {
	cands := table("a100", "t4")
	truth := func(c data.Config) float64 { return price(c) * stepTime(c) / c.GlobalBatch() }
	best := math.Inf(1)
	for _, c := range cands {
		best = min(best, truth(c))
	}
	named, lucky, again := 0, 0, 0
	const seeds = 10
	for seed := range int64(seeds) {
		s, err := NewGuided(Options{Objective: CostToTarget, Price: price, Noisy: true, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		h, all := run(t, s, cands, 60, func(c data.Config, _ int) data.Measurement {
			m := measure(c)
			m.StepTime *= math.Exp(0.1 * rng.NormFloat64())
			return m
		})
		last := all[len(all)-1]
		if !last.Stop {
			t.Fatalf("no stop after %d trials", len(h.Measured))
		}
		if truth(last.Config) <= 1.05*best {
			named++
		}
		// The minimum of one measurement of every candidate.
		pick, least := cands[0], math.Inf(1)
		for _, c := range cands {
			if v := truth(c) * math.Exp(0.1*rng.NormFloat64()); v < least {
				pick, least = c, v
			}
		}
		if truth(pick) <= 1.05*best {
			lucky++
		}
		for _, s := range all {
			if s.Remeasure {
				again++
				if !strings.HasPrefix(s.Reason, "again") {
					t.Errorf("reason %q does not say that it is measured again", s.Reason)
				}
			}
		}
	}
	if named < lucky || named < seeds/2 || again == 0 {
		t.Errorf("%d of %d searches name one within 5 %%, %d measured again; one look at all %d candidates names %d", named, seeds, again, len(cands), lucky)
	}
}

// Draws have the moments of the posterior.
func TestSample(t *testing.T) {
	x := [][]float64{{0}, {0.4}, {1}}
	g, err := NewGP(x, []float64{0, 1, -1}, .6, Hyper{LogLength: []float64{-1}, LogNugget: -4})
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{{0.2}, {0.25}}
	level, at := make([]float64, 2), make([]whitened, 2)
	for i, p := range points {
		level[i], _, at[i] = g.predict(p, nil)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var cov [2][2]float64
	const draws = 4000
	for range draws {
		v := g.Sample(points, rng)
		for i := range v {
			for j := range v {
				cov[i][j] += (v[i] - level[i]) * (v[j] - level[j]) / draws
			}
		}
	}
	for i := range at {
		for j := range at {
			if want := g.covariance(at[i], at[j]); math.Abs(cov[i][j]-want) > 0.08*g.covariance(at[0], at[0])+1e-3 {
				t.Errorf("covariance %d, %d = %g, want %g", i, j, cov[i][j], want)
			}
		}
	}
}

func TestGPUColumns(t *testing.T) {
	names := func(types ...string) string {
		var cands []data.Config
		for _, g := range types {
			cands = append(cands, data.Config{GPUType: g, Workers: 1})
		}
		e, points, err := newEncoder(cands)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range e.columns {
			out = append(out, c.name)
		}
		return fmt.Sprint(out, len(points[0]))
	}
	for want, types := range map[string][]string{
		"[gpu_tflops] 1": {"t4", "a100"}, // two types differ in one direction
		"[gpu_tflops gpu_memory gpu_bandwidth] 3":          {"t4", "a100", "k80"},
		"[gpu_tflops gpu_type] 2":                          {"t4", "a100", "mine"},
		"[gpu_type gpu_type gpu_type] 3":                   {"t4", "yours", "mine"},
		"[gpu_tflops gpu_memory gpu_bandwidth gpu_type] 4": {"t4", "a100", "k80", "mine"},
	} {
		if got := names(types...); got != want {
			t.Errorf("%v: %s, want %s", types, got, want)
		}
	}
}

// Candidates may differ in layout only: degrees are on a log scale, words are
// ranked by their effect.
func TestLayoutColumns(t *testing.T) {
	var cands []data.Config
	for _, l := range []data.Layout{{}, {TP: 2}, {TP: 4}, {PP: 2}, {Recompute: "full"}, {Sharding: "zero1"}, {Sharding: "zero3"}} {
		cands = append(cands, data.Config{GPUType: "a100", Workers: 4, LocalBatch: 1, Layout: l})
	}
	e, points, err := newEncoder(cands)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range e.columns {
		names = append(names, c.name)
	}
	if got := fmt.Sprint(names); got != "[tp pp sharding recompute replicas]" || points[1][0] != .5 || points[2][0] != 1 {
		t.Errorf("columns %s; tp 2 and 4 of at most 4 are at %g and %g, want 0.5 and 1", got, points[1][0], points[2][0])
	}
}

func TestSlice(t *testing.T) {
	cands := table("a100")
	g, err := NewGuided(Options{Objective: Throughput, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := History{Candidates: cands, Measured: []data.Measurement{measure(cands[0]), measure(cands[7]), measure(cands[18])}}
	for knob, want := range map[string]int{"workers": 5, "local_batch": 4} {
		s, err := g.Slice(h, knob)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Points) != want || s.Through.Key() != cands[18].Key() {
			t.Errorf("%s: %d points through %s, want %d", knob, len(s.Points), s.Through, want)
		}
		for _, p := range s.Points {
			if p.Expected.Lo > p.Expected.Mean || p.Index == 18 && p.Improvement != 0 {
				t.Errorf("%s: %+v", knob, p)
			}
		}
	}
	for _, knob := range []string{"ps", "precision"} {
		if _, err := g.Slice(h, knob); err == nil || !strings.Contains(err.Error(), knob) {
			t.Errorf("along %s: error %v", knob, err)
		}
	}
	if _, err := g.Slice(History{Candidates: cands}, "workers"); err == nil {
		t.Error("a slice through nothing")
	}
}
