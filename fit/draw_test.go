package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"knee/data"
	"knee/internal/leastsq"
)

// Where the posterior is another normal than the one drawn from, the chosen
// draws must have the moments of the posterior.
func TestResampleCorrectsTheNormal(t *testing.T) {
	const n, narrow, off = 2000, .5, .3
	rng := rand.New(rand.NewPCG(1, 1))
	z := stratified(distuv.UnitNormal, n, rng)
	thetas, length := make([][]float64, n), make([]float64, n)
	for i, v := range z {
		thetas[i], length[i] = []float64{v}, v*v/2
	}
	target := leastsq.Problem{Params: 1, Rows: 1, Residuals: func(x, r []float64) { r[0] = (x[0] - off) / narrow }}
	var got []float64
	for _, d := range resample(target, thetas, length) {
		got = append(got, thetas[d][0])
	}
	mean, sd := stat.MeanStdDev(got, nil)
	if math.Abs(mean-off) > .02 || math.Abs(sd-narrow) > .02 {
		t.Errorf("mean %.3f and sd %.3f, want %.1f and %.1f", mean, sd, off, narrow)
	}
}

// A draw whose density is no number, or that is the only likely one, neither
// breaks nor takes over the rest.
func TestResampleOfExtremes(t *testing.T) {
	thetas := make([][]float64, 100)
	for i := range thetas {
		thetas[i] = []float64{float64(i)}
	}
	p := leastsq.Problem{Params: 1, Rows: 1, Residuals: func(x, r []float64) {
		r[0] = math.NaN()
		if x[0] >= 50 {
			r[0] = 1e-3 * x[0]
		}
		if x[0] == 70 {
			r[0] = 0
		}
	}}
	length := make([]float64, 100)
	length[70] = 500
	chosen := resample(p, thetas, length)
	if len(chosen) != 100 || slices.Min(chosen) < 50 {
		t.Errorf("chose %v, want 100 draws with a density", chosen)
	}
}

// The intervals must hardly depend on the seed.
func TestIntervalsAgreeOverSeeds(t *testing.T) {
	var widths []float64
	for seed := range int64(12) {
		m, err := Fit(syntheticCollective(8), Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(data.Config{GPUType: "t4", Workers: 16, Placement: data.EvenPlacement(16, 8), LocalBatch: 24})
		if err != nil {
			t.Fatal(err)
		}
		widths = append(widths, math.Log(p.StepTime.Hi/p.StepTime.Lo))
	}
	if mean, sd := stat.MeanStdDev(widths, nil); sd > .15*mean {
		t.Errorf("widths %.3g, mean %.3g, sd %.2g", widths, mean, sd)
	}
}

// A product kernel is the product it says, is symmetric, and knows a batch by
// its key.
func TestProductKernels(t *testing.T) {
	anyPoint := func(t *rapid.T, name string) point {
		nodes := rapid.IntRange(1, 4).Draw(t, name+" nodes")
		k := nodes * rapid.IntRange(1, 4).Draw(t, name+" width")
		return pointOf(data.Config{Workers: k, Placement: data.EvenPlacement(k, nodes), PS: rapid.IntRange(0, 4).Draw(t, name+" ps"),
			LocalBatch: float64(rapid.IntRange(1, 64).Draw(t, name+" batch"))}, scale{batch: 8, global: 8})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyPoint(t, "a"), anyPoint(t, "b")
		for _, k := range []productKernel{collectiveKernel{}, serverKernel{}} {
			alone, shared := k.batchCov(&a, &b)
			if got, want := k.cov(&a, &b), alone+shared*k.placeCov(&a, &b); math.Abs(got-want) > 1e-15 {
				t.Fatalf("%T: cov %g, product %g", k, got, want)
			}
			if k.cov(&a, &b) != k.cov(&b, &a) {
				t.Fatalf("%T is not symmetric", k)
			}
			if limit := math.Sqrt(k.cov(&a, &a) * k.cov(&b, &b)); k.cov(&a, &b) > limit*(1+1e-12) {
				t.Fatalf("%T: cov %g above %g", k, k.cov(&a, &b), limit)
			}
		}
	})
}

func TestAlignment(t *testing.T) {
	for batch, want := range map[float64]float64{1: 0, 6: 1, 12: 2, 23: 0, 24: 3, 32: 3, 4.5: 0, .25: 0} {
		if got := alignment(batch); got != want {
			t.Errorf("batch %g: alignment %g, want %g", batch, got, want)
		}
	}
}

// Random orders correlate by about 1/√n; reordered, far less, with the same
// values.
func TestDecorrelate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var columns [][]float64
	for range 8 {
		before := stratifiedHalf(100, rng)
		v := slices.Clone(before)
		decorrelate(v, columns)
		for _, c := range columns {
			if r := stat.Correlation(v, c, nil); math.Abs(r) > .05 {
				t.Errorf("correlation %.3f", r)
			}
		}
		sizes := func(x []float64) []float64 {
			s := make([]float64, len(x))
			for i := range x {
				s[i] = math.Abs(x[i])
			}
			slices.Sort(s)
			return s
		}
		if !slices.Equal(sizes(v), sizes(before)) {
			t.Error("other values than before")
		}
		columns = append(columns, v)
	}
}
