package gradnoise

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/internal/bench"
)

// gradients simulates steps of workers whose gradients are normal around
// mean with the given sd per dimension at the initial batch, and returns the
// averaged estimates of |E g|² and of the trace of the covariance there.
//
// A worker holds scale/workers initial batches, so that its own gradient has
// workers/scale times the variance.
func gradients(t *rapid.T, mean, sd []float64, workers int, scale float64, steps int) (sqr, variance float64) {
	rng := newTestRand(rapid.Uint64().Draw(t, "seed"))
	grow := math.Sqrt(float64(workers) / scale)
	for range steps {
		own := make([]float64, workers)
		all := make([]float64, len(mean))
		for i := range own {
			for d := range mean {
				g := mean[d] + grow*sd[d]*rng.NormFloat64()
				own[i] += g * g
				all[d] += g / float64(workers)
			}
		}
		var meanSqr float64
		for _, g := range all {
			meanSqr += g * g
		}
		s, v, err := Stats(own, meanSqr, scale)
		if err != nil {
			t.Fatal(err)
		}
		sqr += s / float64(steps)
		variance += v / float64(steps)
	}
	return sqr, variance
}

// The estimators are unbiased: averaged over many steps they come within
// six of their standard errors of what the gradients were drawn from,
// whatever the number of workers and the batch.
func TestStatsFindKnownCovariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dims, steps = 12, 400
		mean, sd := make([]float64, dims), make([]float64, dims)
		var wantSqr, trace, traceSqr, along float64
		for d := range mean {
			mean[d] = rapid.Float64Range(-1, 1).Draw(t, "mean")
			sd[d] = rapid.Float64Range(.05, 2).Draw(t, "sd")
			v := sd[d] * sd[d]
			wantSqr += mean[d] * mean[d]
			trace += v
			traceSqr += v * v
			along += mean[d] * mean[d] * v
		}
		workers := rapid.IntRange(2, 16).Draw(t, "workers")
		scale := rapid.SampledFrom([]float64{1, 2, 8}).Draw(t, "scale")
		sqr, variance := gradients(t, mean, sd, workers, scale, steps)
		// The trace is a mean of (workers − 1)·steps squares. The norm of the
		// mean gradient scatters along itself and by its own noise.
		c := float64(workers)
		traceError := math.Sqrt(2 * traceSqr / (c - 1) / steps)
		sqrError := math.Sqrt((4*along/scale + 2*traceSqr*c/(c-1)/(scale*scale)) / steps)
		if math.Abs(variance-trace) > 6*traceError {
			t.Errorf("trace %g, want %g ± %g", variance, trace, traceError)
		}
		if math.Abs(sqr-wantSqr) > 6*sqrError {
			t.Errorf("|G|² %g, want %g ± %g", sqr, wantSqr, sqrError)
		}
	})
}

// Efficiency lies in (0, 1], falls with the batch, and rises with the noise.
func TestEfficiencyIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(name string, lo, hi float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
		}
		sqr, variance, initial := f("sqr", 1e-9, 1e9), f("var", 1e-9, 1e9), f("initial", 1, 1e5)
		batch := initial * f("scale", 1, 1e4)
		n, noisier := New(sqr, variance, initial), New(sqr, 2*variance, initial)
		e, larger, more := n.Efficiency(batch), n.Efficiency(2*batch), noisier.Efficiency(batch)
		if !(e.Mean > 0 && e.Mean <= 1) || larger.Mean > e.Mean || more.Mean < e.Mean-1e-12 {
			t.Errorf("efficiency %v, at twice the batch %v, with twice the noise %v", e, larger, more)
		}
	})
}

// The moving average of constants is the constant from the first step on.
func TestAverageHasNoStart(t *testing.T) {
	a := Average{Smoothing: .999}
	if s, v := a.Value(); s != 0 || v != 0 {
		t.Errorf("before the first step: %g, %g", s, v)
	}
	for range 3 {
		a.Add(2, 7)
		if s, v := a.Value(); math.Abs(s-2) > 1e-12 || math.Abs(v-7) > 1e-12 {
			t.Errorf("%g, %g; want 2, 7", s, v)
		}
	}
}

// Rows that cannot be gradient statistics are left out, and a curve of
// nothing else is an error.
func TestScaleRefusesNonsense(t *testing.T) {
	nan := math.NaN()
	bad := []data.CurvePoint{{GradSqr: 0, GradVar: 1}, {GradSqr: -1, GradVar: 1}, {GradSqr: nan, GradVar: 1},
		{GradSqr: 1, GradVar: -1}, {GradSqr: math.Inf(1), GradVar: 1}, {GradSqr: 1, GradVar: nan}}
	if n, err := Fit(bad, 32); err == nil {
		t.Errorf("%+v", n)
	}
	if n, err := Fit(append(bad, data.CurvePoint{GradSqr: 2, GradVar: 6}), 32); err != nil || n.Points != 1 || n.Phi.Mean != 96 {
		t.Errorf("%+v, %v; want 32·6/2", n, err)
	}
	for _, initial := range []float64{0, -1, nan} {
		if _, err := Fit([]data.CurvePoint{{GradSqr: 2, GradVar: 6}}, initial); err == nil {
			t.Errorf("an initial batch of %v was accepted", initial)
		}
	}
	if _, _, err := Stats([]float64{1}, 1, 1); err == nil {
		t.Error("one gradient was enough")
	}
}

func TestEfficiency(t *testing.T) {
	n := New(2, 6, 128) // φ = 128·6/2
	if n.Phi.Mean != 384 {
		t.Fatalf("φ = %v, want 384", n.Phi.Mean)
	}
	// The gain form of AdaScale must say the same: gain/scale with
	// gain = (var + sqr)/(var/scale + sqr).
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.Float64Range(1, 100).Draw(t, "scale")
		gain := (6. + 2) / (6/scale + 2)
		if got := n.Efficiency(128 * scale).Mean; math.Abs(got-gain/scale) > 1e-12 {
			t.Fatalf("efficiency %g, gain/scale %g", got, gain/scale)
		}
	})
	if e := n.Efficiency(64); e.Mean != 1 {
		t.Errorf("below the initial batch: %+v", e)
	}
}

// Averaged over many steps the estimators must give back what the gradients
// were made from: mean (3, 4), so |E g|² = 25, and variance 2 per component.
func TestGradientStatsAreUnbiased(t *testing.T) {
	avg := Average{Smoothing: .9999}
	if s, v := avg.Value(); s != 0 || v != 0 {
		t.Errorf("before the first step: %g, %g", s, v)
	}
	rng := newTestRand(3)
	const workers = 4
	for range 60000 {
		var norms []float64
		var mean [2]float64
		for range workers {
			g := [2]float64{3 + math.Sqrt2*rng.NormFloat64(), 4 + math.Sqrt2*rng.NormFloat64()}
			norms = append(norms, g[0]*g[0]+g[1]*g[1])
			mean[0] += g[0] / workers
			mean[1] += g[1] / workers
		}
		// The mean of four such gradients has a covariance of trace 4/4,
		// and with scale 1 the four together are the initial batch.
		s, v, err := Stats(norms, mean[0]*mean[0]+mean[1]*mean[1], 1)
		if err != nil {
			t.Fatal(err)
		}
		avg.Add(s, v)
	}
	s, v := avg.Value()
	if math.Abs(s-25) > .5 || math.Abs(v-1) > .05 {
		t.Errorf("sqr %.3f, var %.3f; want 25 and 4/4 = 1", s, v)
	}
	if _, _, err := Stats([]float64{1}, 1, 1); err == nil {
		t.Error("one norm says nothing about spread")
	}
}

// On recorded runs the noise scale must be positive and grow with the batch
// ordering of its interval intact.
func TestRecordedRuns(t *testing.T) {
	dir := bench.Dir(t)
	files, err := filepath.Glob(filepath.Join(dir, "training", "cifar10-batch*.csv"))
	if err != nil || len(files) == 0 {
		t.Skip("no training runs in the measured data")
	}
	for _, f := range files {
		points, _, err := data.LoadCurve(f)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Fit(points, 128)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if !(n.Phi.Lo > 0 && n.Phi.Lo <= n.Phi.Mean && n.Phi.Mean <= n.Phi.Hi) {
			t.Errorf("%s: φ = %+v", f, n.Phi)
		}
	}
}

func newTestRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// Noise scale 384 at M0 = 128 and s = 4: the gain is (6+2)/(6/4+2).
func TestLearningRates(t *testing.T) {
	n := New(2, 6, 128)
	want := map[string]float64{"linear": 4, "square-root": 2, "adascale": 8 / 3.5}
	rates := n.LearningRates(512)
	if len(rates) != len(want) {
		t.Fatalf("%+v", rates)
	}
	for _, r := range rates {
		if math.Abs(r.Factor.Mean-want[r.Name]) > 1e-12 || r.Source == "" {
			t.Errorf("%+v, want %g", r, want[r.Name])
		}
	}
	if n.LearningRates(0) != nil {
		t.Error("a batch of 0 got advice")
	}
}
