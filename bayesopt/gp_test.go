package bayesopt

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// Two observations: the 2×2 system solved by hand.
func TestGPTwoPoints(t *testing.T) {
	h := Hyper{LogLength: []float64{math.Log(0.7)}, LogNugget: math.Log(0.1)}
	g, err := NewGP([][]float64{{0}, {0.5}}, []float64{1, 3}, 2, h)
	if err != nil {
		t.Fatal(err)
	}
	m := func(d float64) float64 {
		r := math.Sqrt(5) * d / 0.7
		return (1 + r + r*r/3) * math.Exp(-r)
	}
	a, b := 1+constantRatio+0.1+minNugget, constantRatio+m(0.5) // diagonal and off-diagonal of K/σ²
	det := a*a - b*b
	k0, k1 := constantRatio+m(0.2), constantRatio+m(0.3)
	// Responses centred: −1 and 1.
	wantMean := 2 + (k0*(-a-b)+k1*(b+a))/det
	wantVar := 2 * (1 + constantRatio - (a*k0*k0-2*b*k0*k1+a*k1*k1)/det)
	mu, v := g.Predict([]float64{0.2})
	if math.Abs(mu-wantMean) > 1e-12 || math.Abs(v-wantVar) > 1e-12 {
		t.Errorf("Predict = %.15g, %.15g, want %.15g, %.15g", mu, v, wantMean, wantVar)
	}
	quad := (2*a + 2*b) / det
	want := -0.5*quad/2 - 0.5*math.Log(4*det) - math.Log(2*math.Pi)
	if got := g.LogLikelihood(); math.Abs(got-want) > 1e-12 {
		t.Errorf("LogLikelihood = %.15g, want %.15g", got, want)
	}
}

func randomData(rng *rand.Rand, n, d int) (x [][]float64, y []float64) {
	for range n {
		row := make([]float64, d)
		s := rng.NormFloat64() * 0.1
		for j := range row {
			row[j] = rng.Float64()
			s += math.Sin(3 * row[j] * float64(j+1))
		}
		x, y = append(x, row), append(y, s)
	}
	return x, y
}

// The fitted posterior density is at least that at the prior mean; duplicates,
// constant columns, constant responses and single observations are valid.
func TestFitGPRobust(t *testing.T) {
	for name, c := range map[string]struct {
		x [][]float64
		y []float64
	}{
		"one":        {[][]float64{{0.3, 0.4}}, []float64{5}},
		"duplicates": {[][]float64{{0.3}, {0.3}, {0.3}, {0.8}}, []float64{1, 1.2, 0.9, 2}},
		"constant":   {[][]float64{{1, 0}, {1, 0.5}, {1, 1}}, []float64{2, 2, 2}},
		"no columns": {[][]float64{{}, {}}, []float64{1, 2}},
		"huge":       {[][]float64{{0}, {1}}, []float64{-1e6, 1e6}},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := FitGP(c.x, c.y, Prior{}, 1)
			if err != nil {
				t.Fatal(err)
			}
			post, err := AverageGP(c.x, c.y, Prior{}, averageKeep, 1)
			if err != nil {
				t.Fatal(err)
			}
			m, v := g.Predict(c.x[0])
			pm, ps := post.Predict(c.x[0]).Moments()
			for _, f := range []float64{m, v, pm, ps} {
				if math.IsNaN(f) || math.IsInf(f, 0) {
					t.Errorf("prediction %g, %g, %g, %g is not finite", m, v, pm, ps)
				}
			}
			start, err := condition(c.x, c.y, nil, stat.Mean(c.y, nil), Prior{}.at(make([]float64, len(c.x[0])+1)))
			if err != nil {
				t.Fatal(err)
			}
			if got, at := g.marginalised(nil).logged, start.marginalised(nil).logged; got < at-1e-9 {
				t.Errorf("fitted log likelihood %g is below that of the prior mean, %g", got, at)
			}
		})
	}
}

func TestGPErrors(t *testing.T) {
	for name, c := range map[string]struct {
		x [][]float64
		y []float64
	}{
		"nan": {[][]float64{{math.NaN()}}, []float64{1}},
		"inf": {[][]float64{{1}}, []float64{math.Inf(1)}},
	} {
		if _, err := FitGP(c.x, c.y, Prior{}, 1); err == nil {
			t.Errorf("%s: FitGP reports no error", name)
		}
		if _, err := AverageGP(c.x, c.y, Prior{}, 1, 1); err == nil {
			t.Errorf("%s: AverageGP reports no error", name)
		}
	}
}

// Without noise the process passes through its observations.
func TestGPInterpolates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		x, y := randomData(rng, rapid.IntRange(1, 10).Draw(t, "n"), 2)
		for i := range x {
			for j := range i {
				if floats.Distance(x[i], x[j], 2) < 0.05 {
					t.Skip("two observations so near that the nugget counts")
				}
			}
		}
		g, err := NewGP(x, y, 1, Hyper{LogLength: []float64{-1, -1}, LogNugget: -25})
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			m, v := g.Predict(x[i])
			if math.Abs(m-y[i]) > 1e-4 || v > 1e-4 {
				t.Fatalf("at observation %d: mean %g, variance %g, want %g, 0", i, m, v, y[i])
			}
		}
	})
}

// 90 % intervals contain about 90 % of the values of functions drawn from a
// Gaussian process.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	inside, total := 0, 0
	for range 20 {
		x, _ := randomData(rng, 32, 2)
		truth := Prior{}.draw(2, rng)
		truth.LogNugget = -12
		f := sampleGP(t, x, truth, rng)
		post, err := AverageGP(x[:12], f[:12], Prior{}, averageKeep, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := 12; i < 32; i++ {
			p := post.Predict(x[i])
			total++
			if f[i] >= p.Quantile(0.05) && f[i] <= p.Quantile(0.95) {
				inside++
			}
		}
	}
	// 20 functions of 20 correlated points: the standard error is about 3 %.
	if share := float64(inside) / float64(total); share < 0.81 || share > 0.98 {
		t.Errorf("90 %% intervals cover %.1f %%", 100*share)
	}
}

// sampleGP draws function values at x by conditioning one point at a time.
func sampleGP(t *testing.T, x [][]float64, h Hyper, rng *rand.Rand) []float64 {
	f := []float64{rng.NormFloat64() * math.Sqrt(sigmaScale)}
	for i := 1; i < len(x); i++ {
		g, err := condition(x[:i], f, nil, 0, h)
		if err != nil {
			t.Fatal(err)
		}
		m, v := g.Predict(x[i])
		f = append(f, m+math.Sqrt(v)*rng.NormFloat64())
	}
	return f
}

// NewGP conditions a Gaussian process with the given hyperparameters on n ≥ 1
// observations y at the inputs x (n rows of equal length). Equal inputs and
// inputs without columns are allowed. Non-finite numbers are errors.
func NewGP(x [][]float64, y []float64, sigma2 float64, h Hyper) (*GP, error) {
	g, err := condition(x, y, nil, stat.Mean(y, nil), h)
	if err == nil {
		g.sigma2 = sigma2
	}
	return g, err
}

// LogLikelihood returns the log marginal likelihood of the centred responses
// (Rasmussen and Williams 2006, eq. 2.30).
func (g *GP) LogLikelihood() float64 {
	n := float64(len(g.y))
	return -0.5*floats.Dot(g.white, g.white)/g.sigma2 - 0.5*g.factor.LogDet() - 0.5*n*math.Log(2*math.Pi*g.sigma2)
}

// With jumps, a response with a step in the sum of two inputs is predicted with
// a smaller error.
func TestJumpsAlongASum(t *testing.T) {
	var seen, rest [][]float64
	var y []float64
	at := func(x []float64) float64 { return map[bool]float64{true: -1}[x[0]+x[1] > 0.9] }
	for i := range 36 {
		x := []float64{float64(i%6) / 5, float64(i/6) / 5}
		if i%7%3 == 0 {
			seen, y = append(seen, x), append(y, at(x))
		} else {
			rest = append(rest, x)
		}
	}
	off := map[bool]float64{}
	for _, jumps := range []bool{false, true} {
		post, err := AverageGP(seen, y, Prior{Jumps: jumps}, averageKeep, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range rest {
			mean, _ := post.Predict(x).Moments()
			off[jumps] += math.Abs(mean-at(x)) / float64(len(rest))
		}
	}
	if off[true] > 0.8*off[false] {
		t.Errorf("mean error %.3f with jumps, %.3f without: want it clearly less", off[true], off[false])
	}
	if j := (Jump{Column: 0, Second: 1, At: 0.5}); j.beyond([]float64{0.9, 0}) || !j.beyond([]float64{0.9, 0.2}) {
		t.Error("a step of two inputs is at their mean")
	}
}
