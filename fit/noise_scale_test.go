package fit

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
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
		s, v, err := GradientStats(own, meanSqr, scale)
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
func TestGradientStatsFindKnownCovariance(t *testing.T) {
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
		n, noisier := NewNoiseScale(sqr, variance, initial), NewNoiseScale(sqr, 2*variance, initial)
		e, larger, more := n.Efficiency(batch), n.Efficiency(2*batch), noisier.Efficiency(batch)
		if !(e.Mean > 0 && e.Mean <= 1) || larger.Mean > e.Mean || more.Mean < e.Mean-1e-12 {
			t.Errorf("efficiency %v, at twice the batch %v, with twice the noise %v", e, larger, more)
		}
	})
}

// The moving average of constants is the constant from the first step on.
func TestGradientAverageHasNoStart(t *testing.T) {
	a := GradientAverage{Smoothing: .999}
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
func TestNoiseScaleRefusesNonsense(t *testing.T) {
	nan := math.NaN()
	bad := []data.CurvePoint{{GradSqr: 0, GradVar: 1}, {GradSqr: -1, GradVar: 1}, {GradSqr: nan, GradVar: 1},
		{GradSqr: 1, GradVar: -1}, {GradSqr: math.Inf(1), GradVar: 1}, {GradSqr: 1, GradVar: nan}}
	if n, err := FitNoiseScale(bad, 32); err == nil {
		t.Errorf("%+v", n)
	}
	if n, err := FitNoiseScale(append(bad, data.CurvePoint{GradSqr: 2, GradVar: 6}), 32); err != nil || n.Points != 1 || n.Phi.Mean != 96 {
		t.Errorf("%+v, %v; want 32·6/2", n, err)
	}
	for _, initial := range []float64{0, -1, nan} {
		if _, err := FitNoiseScale([]data.CurvePoint{{GradSqr: 2, GradVar: 6}}, initial); err == nil {
			t.Errorf("an initial batch of %v was accepted", initial)
		}
	}
	if _, _, err := GradientStats([]float64{1}, 1, 1); err == nil {
		t.Error("one gradient was enough")
	}
}
