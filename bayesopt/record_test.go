package bayesopt

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The record of one draw is the standardised difference of every response from
// the prediction by those before it.
func TestRecordIsThePredictionBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	x, y := randomData(rng, 9, 2)
	centred := make([]float64, len(y))
	for i := range y {
		centred[i] = y[i] - stat.Mean(y, nil)
	}
	h := Prior{Jumps: true}.draw(2, rng)
	all, err := condition(x, centred, nil, 0, h)
	if err != nil {
		t.Fatal(err)
	}
	got := newRecord([]weighted{all.marginalised()})
	for i := recordFrom; i < len(y); i++ {
		before, err := condition(x[:i], centred[:i], nil, 0, h)
		if err != nil {
			t.Fatal(err)
		}
		before.marginalised() // sets σ²
		mu, v := before.Predict(x[i])
		freedom := 2*sigmaShape + float64(i)
		z := (centred[i] - mu) / math.Sqrt(v+before.NoiseVariance())
		want := distuv.UnitNormal.Quantile(distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(z))
		if math.Abs(got[i-recordFrom]-want) > 1e-6*(1+math.Abs(want)) && math.Abs(want) < 5 {
			t.Errorf("trial %d: score %g, conditioning on those before it gives %g", i, got[i-recordFrom], want)
		}
	}
}

// Results as predicted keep the widths; surprises widen them.
func TestRecordWidth(t *testing.T) {
	if w := (record{}).width(4); w != 1 {
		t.Errorf("without a record the width is %g, want 1", w)
	}
	if w := (record{1, -1, 1, -1}).width(4); math.Abs(w-1) > 1e-12 {
		t.Errorf("scores of one give %g, want 1", w)
	}
	if w := (record{3, -3, 3, -3}).width(4); w < 1.5 {
		t.Errorf("scores of three give %g, want clearly more than 1", w)
	}
}
