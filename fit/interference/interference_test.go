package interference

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// TestNothingKnown: without pairs the median is that of jobs that take turns,
// with a wide interval.
func TestNothingKnown(t *testing.T) {
	p := Fit(nil).Predict(Row{Job: "a", Beside: "b", GPUType: "t4"})
	if p.Share.Mean != .5 || p.Share.Lo > .2 || p.Share.Hi != 1 || p.Fits != .5 {
		t.Errorf("%+v", p)
	}
}

// TestForms: with slowdowns that are exactly a product of excesses, a product,
// or a sum, a held-out pair is inside its interval and close.
func TestForms(t *testing.T) {
	for name, slowdown := range map[string]func(a, b float64) float64{
		"excess": func(a, b float64) float64 { return 1 + a*b },
		"turns":  func(a, b float64) float64 { return (1 + a/2) * (1 + b/3) },
		"sum":    func(a, b float64) float64 { return 1 + a + b/2 },
	} {
		var rows []Row
		for a := range 6 {
			for b := range 6 {
				if a != 2 || b != 4 {
					rows = append(rows, Row{fmt.Sprint(a), fmt.Sprint(b), "t4", 0, 1 / slowdown(.2+.15*float64(a), .2+.15*float64(b))})
				}
			}
		}
		want := 1 / slowdown(.5, .8)
		p := Fit(rows).Predict(Row{Job: "2", Beside: "4", GPUType: "t4"}).Share
		if p.Lo > want || want > p.Hi || math.Abs(p.Mean/want-1) > .02 {
			t.Errorf("%s: %+v, want %g", name, p, want)
		}
	}
}

// TestMemory: jobs of 1 to 8 GB on a GPU of 9 GB; whether a pair fits is
// predicted from other pairs of its jobs.
func TestMemory(t *testing.T) {
	var rows []Row
	for a := 1; a <= 8; a++ {
		for b := 1; b <= 8; b++ {
			r := Row{fmt.Sprint(a), fmt.Sprint(b), "t4", 0, .6}
			if a+b > 9 {
				r.Share = 0
			}
			if a*b != 12 && a*b != 40 {
				rows = append(rows, r)
			}
		}
	}
	m := Fit(rows)
	if yes, no := m.Predict(Row{Job: "3", Beside: "4", GPUType: "t4"}).Fits, m.Predict(Row{Job: "8", Beside: "5", GPUType: "t4"}).Fits; yes < .75 || no > .25 {
		t.Errorf("3 and 4 GB fit with probability %.2f, 5 and 8 GB with %.2f", yes, no)
	}
}

// TestFewPairs: pairs that all fit make the next likely to fit, not certain: after
// n of them it fits with a probability of (n+1)/(n+2) by Laplace's rule, if
// nothing is known of its jobs.
func TestFewPairs(t *testing.T) {
	before := .5
	for n := range 6 {
		var rows []Row
		for i := range n {
			rows = append(rows, Row{fmt.Sprint(i), fmt.Sprint(-i), "t4", 0, .6})
		}
		fits := Fit(rows).Predict(Row{Job: "a", Beside: "b", GPUType: "t4"}).Fits
		if most := float64(n+1) / float64(n+2); fits < before || fits > most+1e-9 {
			t.Errorf("after %d pairs that fit the next does with probability %.3f, want %.3f to %.3f", n, fits, before, most)
		}
		before = fits
	}
}

// TestPosteriorIsExact: the prediction equals the dense Gaussian conditional
// for the same variances.
func TestPosteriorIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"x", "y", "z"})
		draw := func() row {
			return row{[]effect{{0, name.Draw(t, "a")}, {0, name.Draw(t, "b")}, {1, name.Draw(t, "c")}}, name.Draw(t, "cell"), rapid.Float64Range(-2, 2).Draw(t, "y")}
		}
		var rows []row
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			rows = append(rows, draw())
		}
		e := fitEffects(rows, 2, nil)
		covariance := func(a, b row) (v float64) {
			for _, f := range a.effects {
				for _, g := range b.effects {
					if f == g {
						v += e.variance[f.group]
					}
				}
			}
			if a.cell == b.cell {
				v += e.variance[2]
			}
			return v
		}
		x, n := draw(), len(rows)
		k, y, to := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for i := range rows {
			for j := range i + 1 {
				k.SetSym(i, j, covariance(rows[i], rows[j]))
			}
			k.SetSym(i, i, k.At(i, i)+e.noise())
			y.SetVec(i, rows[i].y)
			to.SetVec(i, covariance(rows[i], x))
		}
		var chol mat.Cholesky
		chol.Factorize(k)
		var weights, spread mat.VecDense
		_ = chol.SolveVecTo(&weights, y)
		_ = chol.SolveVecTo(&spread, to)
		mean, variance := e.predict(x)
		if want := mat.Dot(&weights, to); math.Abs(mean-want) > 1e-8 {
			t.Fatalf("mean %g, want %g", mean, want)
		}
		if want := covariance(x, x) + e.noise() - mat.Dot(&spread, to); math.Abs(variance-want) > 1e-8 {
			t.Fatalf("variance %g, want %g", variance, want)
		}
		if want := -(chol.LogDet() + mat.Dot(&weights, y)) / 2; math.Abs(e.evidence-want) > 1e-6 {
			t.Fatalf("evidence %g, want %g", e.evidence, want)
		}
	})
}

// TestAnyTable: for any rows predictions are finite, ordered, between zero and
// the largest share measured, and reproducible.
func TestAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b (batch size 8)", "b (batch size 32)", "c"})
		share := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-3, 1.2), rapid.Just(5.0))
		var rows []Row
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			rows = append(rows, Row{name.Draw(t, "job"), name.Draw(t, "beside"), "t4", rapid.IntRange(0, 2).Draw(t, "workers"), share.Draw(t, "share")})
		}
		r := Row{Job: name.Draw(t, "job"), Beside: name.Draw(t, "beside"), GPUType: rapid.SampledFrom([]string{"t4", "v100"}).Draw(t, "type"), Workers: 2}
		p, again := Fit(rows).Predict(r), Fit(rows).Predict(r)
		s := p.Share
		if !(s.Lo >= 0 && s.Lo <= s.Mean && s.Mean <= s.Hi && s.Hi <= 5 && p.Fits >= 0 && p.Fits <= 1) || s != again.Share || p.Fits != again.Fits {
			t.Fatalf("%+v, then %+v", p, again)
		}
	})
}
