package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// noisy returns the made-up job with runs that differ by sd, in an order that
// mixes its configurations.
func noisy(n int, sd float64, seed uint64) []data.Measurement {
	ms := syntheticCollective(n)
	rng := rand.New(rand.NewPCG(seed, 9))
	for i := range ms {
		f := math.Exp(sd * rng.NormFloat64())
		ms[i].StepTime *= f
		ms[i].SyncTime *= f
	}
	rng.Shuffle(n, func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	return ms
}

// Where runs differ by more than the kernel assumes, intervals must widen
// until they hold what they promise; where they agree, they must stay tight.
func TestIntervalsFollowTheNoise(t *testing.T) {
	mean := func(sd float64) (total score) {
		const jobs = 12
		for seed := range uint64(jobs) {
			all := noisy(120, sd, seed)
			m, err := Fit(all[:16], Settings{})
			if err != nil {
				t.Fatal(err)
			}
			s := judge(t, m, all[16:])
			total.cover += s.cover / jobs
			total.width += s.width / jobs
		}
		return total
	}
	clean, loud := mean(0), mean(.2)
	if clean.width > 22 {
		t.Errorf("half-width %.0f %% where runs agree", clean.width)
	}
	if loud.cover < 85 || loud.width < 1.5*clean.width {
		t.Errorf("runs that differ by 20 %%: coverage %.0f %%, half-width %.0f %% against %.0f %%", loud.cover, loud.width, clean.width)
	}
}

// Repeated runs alone must tell the noise, either way.
func TestRepeatsTellTheNoise(t *testing.T) {
	width := func(sd float64) float64 {
		rng := rand.New(rand.NewPCG(3, 3))
		var ms []data.Measurement
		for range 8 {
			for _, k := range []int{1, 2, 4} {
				ms = append(ms, measured(k, 32, (.2+.02*float64(k))*math.Exp(sd*rng.NormFloat64())))
			}
		}
		m, err := Fit(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(data.Config{Workers: 2, LocalBatch: 32})
		if err != nil {
			t.Fatal(err)
		}
		return math.Log(p.StepTime.Hi/p.StepTime.Lo) / 2
	}
	quiet, loud := width(.002), width(.15)
	if loud < 1.645*.15 || loud > 4*.15 || quiet > .13 {
		t.Errorf("half-widths %.3f and %.3f where runs differ by 0.2 %% and 15 %%", quiet, loud)
	}
}

// Leaving one row out by the formula agrees with doing it, where the form
// hardly bends: parameters free around the estimate, compute times unknown.
func TestLeaveOneOutFormula(t *testing.T) {
	ms := syntheticCollective(14)
	for i := range ms {
		ms[i].SyncTime = 0
	}
	sc := scaleOf(ms)
	pts := pointsOf(ms, sc)
	f := newCollectiveForm(data.AllReduce, pts, sc)
	l := layOut(ms, pts, f.kernel())
	theta, _, err := solve(f, l, spread{Scale: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, sd, ok := l.leaveOneOut(f, spread{Scale: 1}, theta)
	if !ok {
		t.Fatal("not positive definite")
	}
	for i := range ms {
		h := holdOut{f: f, s: sc, rows: ms, pts: pts, spread: spread{Scale: 1}}
		rel, err := h.testError(func(k int) bool { return k != i }, theta)
		if err != nil {
			t.Fatal(err)
		}
		got := math.Abs(math.Expm1(mean[i] - l.step.ln[i]))
		if math.Abs(got-rel) > .25*sd[i] {
			t.Errorf("row %d: the formula is off by %.4f, a refit by %.4f, sd %.4f", i, got, rel, sd[i])
		}
	}
}

// Quantiles of the scale ascend within the grid, whatever the weights.
func TestSpreadQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		var s spread
		var total float64
		for i := range n {
			s.Nodes = append(s.Nodes, math.Exp(gridStep*float64(i)))
			w := rapid.Float64Range(0, 1).Draw(t, "w")
			s.Weights = append(s.Weights, w)
			total += w
		}
		if total == 0 {
			return
		}
		for i := range s.Weights {
			s.Weights[i] /= total
		}
		last := 0.0
		for _, q := range s.quantiles(50) {
			if !(q >= last) || q > s.Nodes[n-1]*math.Exp(gridStep) {
				t.Fatalf("quantile %g after %g, nodes %v weights %v", q, last, s.Nodes, s.Weights)
			}
			last = q
		}
	})
}
