package meter

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestUnderIsLinearAlgebra: the recursion gives what the inverse of the
// correlation matrix gives.
func TestUnderIsLinearAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), 3, 12).Draw(t, "x")
		phi := rapid.Float64Range(-.9, .9).Draw(t, "phi")
		x[0]++ // not all alike
		n := len(x)
		rho := make([]float64, n)
		r := mat.NewSymDense(n, nil)
		for k := range rho {
			rho[k] = math.Pow(phi, float64(k))
			for i := 0; i+k < n; i++ {
				r.SetSym(i, i+k, rho[k])
			}
		}
		var chol mat.Cholesky
		chol.Factorize(r)
		ones, v := mat.NewVecDense(n, nil), mat.NewVecDense(n, x)
		for i := range n {
			ones.SetVec(i, 1)
		}
		form := func(a, b mat.Vector) float64 {
			var y mat.VecDense
			if err := chol.SolveVecTo(&y, b); err != nil {
				t.Fatal(err)
			}
			return mat.Dot(a, &y)
		}
		mean := form(ones, v) / form(ones, ones)
		rest := form(v, v) - mean*form(ones, v)
		want := component{mean: mean, scale: math.Sqrt(rest / float64(n-1) / form(ones, ones)),
			weight: -.5*(chol.LogDet()+math.Log(form(ones, ones))+float64(n-1)*math.Log(rest)) - math.Log(4)}
		got := under(x, 4, rho)
		for _, p := range [][2]float64{{got.mean, want.mean}, {got.scale, want.scale}, {got.weight, want.weight}} {
			if math.Abs(p[0]-p[1]) > 1e-6*(1+math.Abs(p[1])) {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
	})
}

// TestCredible95: 5 % of the posterior lie outside the interval.
func TestCredible95(t *testing.T) {
	x := []float64{1, 1.2, 1.5, 1.4, 1.8, 1.7, 2.2, 2, 2.1, 2.6}
	h := credible95(x)
	mixture, total := posterior(x)
	inside, steps := 0.0, 4000
	for i := range steps { // midpoints
		at := h * (2*(float64(i)+.5)/float64(steps) - 1)
		for _, c := range mixture {
			inside += c.weight / total * distuv.StudentsT{Mu: c.mean, Sigma: c.scale, Nu: float64(len(x) - 1)}.Prob(at) * 2 * h / float64(steps)
		}
	}
	if math.Abs(inside-.95) > 1e-6 {
		t.Errorf("± %g holds %g of the posterior, want 0.95", h, inside)
	}
	independent := stat.StdErr(stat.StdDev(x, nil), float64(len(x))) * distuv.StudentsT{Sigma: 1, Nu: 9}.Quantile(.975)
	if h < 1.5*independent {
		t.Errorf("± %g of steps that drift, ± %g of independent ones", h, independent)
	}
	if got := credible95([]float64{.1, .1, .1 + 1e-12, .1}); got != 0 {
		t.Errorf("± %g of steps that are alike", got)
	}
	shifted := make([]float64, len(x))
	for i := range x {
		shifted[i] = 1000 + 3*x[i]
	}
	if got := credible95(shifted); math.Abs(got-3*h) > 1e-3*h {
		t.Errorf("± %g of three times the steps, want %g", got, 3*h)
	}
}

// TestMSER compares with the definition.
func TestMSER(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.IntRange(1, 9), 5, 30).Draw(t, "x")
		bs := make([]batch, len(x))
		for i, v := range x {
			bs[i] = batch{n: 1, steps: 1, sum: float64(v), sq: float64(v * v)}
		}
		score := func(d int) float64 {
			mean, sum := 0.0, 0.0
			for _, v := range x[d:] {
				mean += float64(v) / float64(len(x)-d)
			}
			for _, v := range x[d:] {
				sum += math.Pow(float64(v)-mean, 2)
			}
			return sum / math.Pow(float64(len(x)-d), 2)
		}
		best := math.Inf(1)
		for d := 1; d <= len(x)/2; d++ {
			best = math.Min(best, score(d))
		}
		if d := mser(bs); d < 1 || d > len(x)/2 || score(d) > best+1e-9 {
			t.Fatalf("truncation %d has %g, the best %g", d, score(d), best)
		}
		for i := range bs {
			bs[i] = batch{n: 1, steps: 1, sum: 3, sq: 9}
		}
		if d := mser(bs); d != 1 {
			t.Fatalf("truncation %d of %d that are alike, want the shortest", d, len(bs))
		}
	})
}

// TestWarmUpMustDiffer: leading steps are dropped only if they differ from the
// rest by more than chance.
func TestWarmUpMustDiffer(t *testing.T) {
	bs := func(first float64) []batch {
		var out []batch
		for i := range 40 {
			v := 1 + .01*float64(i%3)
			if i < 6 {
				v += first
			}
			out = append(out, batch{n: 1, steps: 1, sum: v, sq: v * v})
		}
		return out
	}
	if d := warmup(bs(.5)); d != 6 {
		t.Errorf("%d dropped of six slow steps", d)
	}
	if d := warmup(bs(.002)); d != 1 {
		t.Errorf("%d dropped of steps that hardly differ", d)
	}
}
