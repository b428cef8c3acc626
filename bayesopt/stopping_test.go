package bayesopt

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Among draws of equal weight and one with half of all weight, the resample is
// in proportion.
func TestResampled(t *testing.T) {
	draws := []weighted{{form: 1, logged: math.Log(100)}}
	for range 100 {
		draws = append(draws, weighted{})
	}
	if n := normalise(draws); math.Abs(n-200*200/10100.) > 1e-9 {
		t.Errorf("draws worth %g, want %g", n, 200*200/10100.)
	}
	members, sum := resampled(draws, 64), 0.0
	for _, w := range members {
		sum += w.share
	}
	if heavy := 64 * members[0].share; members[0].form != 1 || heavy < 31 || heavy > 33 || len(members) < 32 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("%g of 64 are the draw of half the weight, %d are different, shares sum to %g; want 32, 33 and 1", heavy, len(members), sum)
	}
}

// A candidate may differ from similar ones for no visible reason, as far as such
// differences are no noise.
func TestBetterCountsWhatNoFeatureShows(t *testing.T) {
	cands := table("a100")
	h := History{Candidates: cands}
	var x [][]float64
	var y []float64
	for i, c := range cands[:len(cands)-1] {
		y = append(y, 0.1*float64(i%3-1)) // flat, plus a peculiarity of each candidate
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: math.Exp(y[i])})
	}
	flat := Hyper{LogLength: []float64{5, 5, 5, 5, 5, 5}, LogNugget: 3}
	chance := map[bool]float64{}
	for _, noisy := range []bool{true, false} {
		p := mustProblem(t, Options{Objective: StepTime}, h)
		if flat.LogNugget, flat.Effect = -20, math.Exp(3); noisy {
			flat.LogNugget, flat.Effect = 3, 0
		}
		flat.LogLength = flat.LogLength[:len(p.Points[0])]
		x = p.Points[:len(y)]
		g, err := condition(x, y, nil, 0, flat)
		if err != nil {
			t.Fatal(err)
		}
		g.sigma2 = 5e-4
		last := []verdict{{candidate: len(cands) - 1, chance: 1}}
		chance[noisy], _ = p.better(&Posterior{width: 1, fair: []weighted{{gp: g, share: 1}}}, -0.05, last)
	}
	// 0.1 nats in standard deviations of 0.1
	want := distuv.StudentsT{Sigma: math.Sqrt(0.5), Nu: 4}.CDF(-1)
	if chance[true] > 0.05 || math.Abs(chance[false]-want) > 0.03 {
		t.Errorf("something better has a chance of %.3f with noise, of %.3f without; want next to none, and about %.3f", chance[true], chance[false], want)
	}
}

// A search does not end while a second model sees a chance of something better, and tries
// that next.
func TestSecondOpinion(t *testing.T) {
	cands := table("a100", "t4")
	o := Options{Objective: StepTime, Seed: 1}
	s, err := NewGuided(o)
	if err != nil {
		t.Fatal(err)
	}
	h, all := run(t, s, cands, 30, func(c data.Config, _ int) data.Measurement { return measure(c) })
	last := all[len(all)-1]
	if !last.Stop || last.Best < 0 {
		t.Fatalf("%+v, want a stop", last)
	}
	p := mustProblem(t, o, h)
	hope := p.Open()[0]
	for _, chance := range []float64{0, .05} {
		s.Model = func(_ []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
			for _, c := range at {
				draws := slices.Repeat([]float64{math.Log(stepTime(c))}, 100)
				for d := 0; c.String() == cands[hope].String() && float64(d) < 100*chance; d++ {
					draws[d] = math.Log(stepTime(cands[last.Best]) / 2)
				}
				ln, sd = append(ln, draws), append(sd, 0)
			}
			return ln, sd, nil
		}
		next, err := s.Next(h)
		if err != nil {
			t.Fatal(err)
		}
		if next.Stop != (chance == 0) || !next.Stop && (next.Index != hope || math.Abs(next.Better-chance) > 1e-9) {
			t.Errorf("a chance of %g: %+v", chance, next)
		}
	}
}
