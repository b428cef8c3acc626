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

// scaleOf is the noise scale of one point of a curve.
func scaleOf(t rapid.TB, sqr, variance, initial float64) *Scale {
	n, err := Fit([]data.CurvePoint{{GradSqr: sqr, GradVar: variance}}, initial)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Efficiency lies in (0, 1], falls with the batch, and rises with the noise.
func TestEfficiencyIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(name string, lo, hi float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
		}
		sqr, variance, initial := f("sqr", 1e-9, 1e9), f("var", 1e-9, 1e9), f("initial", 1, 1e5)
		batch := initial * f("scale", 1, 1e4)
		n, noisier := scaleOf(t, sqr, variance, initial), scaleOf(t, sqr, 2*variance, initial)
		e, larger, more := n.Efficiency(batch), n.Efficiency(2*batch), noisier.Efficiency(batch)
		if !(e.Mean > 0 && e.Mean <= 1) || larger.Mean > e.Mean || more.Mean < e.Mean-1e-12 {
			t.Errorf("efficiency %v, at twice the batch %v, with twice the noise %v", e, larger, more)
		}
	})
}

// Invalid gradient statistics are skipped; a curve with no valid ones is an
// error.
func TestScaleRefusesNonsense(t *testing.T) {
	nan := math.NaN()
	bad := []data.CurvePoint{{GradSqr: nan, GradVar: 1}, {GradSqr: 1, GradVar: 0}, {GradSqr: 1, GradVar: -1}, {GradSqr: math.Inf(1), GradVar: 1}, {GradSqr: 1, GradVar: nan}}
	if n, err := Fit(bad, 32); err == nil {
		t.Errorf("%+v", n)
	}
	if n, err := Fit(append(bad, data.CurvePoint{GradSqr: 2, GradVar: 6}), 32); err != nil || n.Points != 1 || n.Phi.Mean != 96 {
		t.Errorf("%+v, %v; want 32·6/2", n, err)
	}
	if n, err := Fit([]data.CurvePoint{{GradSqr: 1, GradVar: 1}, {GradSqr: -1, GradVar: 1}}, 32); err == nil {
		t.Errorf("no gradient beside its noise: %+v", n)
	}
	for _, initial := range []float64{0, -1, nan} {
		if _, err := Fit([]data.CurvePoint{{GradSqr: 2, GradVar: 6}}, initial); err == nil {
			t.Errorf("an initial batch of %v was accepted", initial)
		}
	}
}

func TestEfficiency(t *testing.T) {
	n := scaleOf(t, 2, 6, 128) // φ = 128·6/2
	if n.Phi.Mean != 384 {
		t.Fatalf("φ = %v, want 384", n.Phi.Mean)
	}
	// AdaScale's gain agrees: efficiency = gain/scale with gain = (var +
	// sqr)/(var/scale + sqr).
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

// On recorded runs the noise scale is positive and its interval ordered.
func TestRecordedRuns(t *testing.T) {
	dir := bench.Dir(t)
	files, err := filepath.Glob(filepath.Join(dir, "training", "cifar10-batch*.csv"))
	if err != nil || len(files) == 0 {
		t.Skip("no training runs in the measured data")
	}
	for _, f := range files {
		points, _, err := data.LoadTable(f, data.ReadCurve)
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

// Noise scale 384 at M0 = 128 and s = 4: the gain is (6+2)/(6/4+2).
func TestLearningRates(t *testing.T) {
	n := scaleOf(t, 2, 6, 128)
	want := map[string]float64{"linear": 4, "square-root": 2, "adascale": 8 / 3.5}
	rates := n.LearningRates(512)
	if len(rates) != len(want) {
		t.Fatalf("%+v", rates)
	}
	for _, r := range rates {
		if math.Abs(r.Factor-want[r.Name]) > 1e-12 {
			t.Errorf("%+v, want %g", r, want[r.Name])
		}
	}
	if n.LearningRates(0) != nil {
		t.Error("a batch of 0 got advice")
	}
}

// Noise of the squared gradient, even beyond its mean, does not bias the noise scale, and the
// interval holds it in nine of ten records, whether statistics are smoothed or not.
func TestNoisyStatistics(t *testing.T) {
	for _, smooth := range []float64{1, .05} {
		inside, sum := 0, 0.
		const records, phi = 100, 500.
		for seed := range uint64(records) {
			rng := rand.New(rand.NewPCG(seed, 2))
			points, noise := make([]data.CurvePoint, 2000), 0.
			for i := range points {
				noise += smooth * (3*rng.NormFloat64() - noise)
				points[i] = data.CurvePoint{GradSqr: 1 + noise, GradVar: phi / 32}
			}
			n, err := Fit(points, 32)
			if err != nil {
				t.Fatal(err)
			}
			if sum += math.Log(n.Phi.Mean / phi); n.Phi.Lo <= phi && phi <= n.Phi.Hi {
				inside++
			}
		}
		if bias := math.Exp(sum / records); bias < .9 || bias > 1.1 || inside < .85*records {
			t.Errorf("smoothed by %g: %.2f of the noise scale, %d of %d inside", smooth, bias, inside, records)
		}
	}
}
