package forest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A forest fits a step that a smooth model cannot, reproduces its data, and is
// uncertain where its trees differ.
func TestForestStep(t *testing.T) {
	var x [][]float64
	var y []float64
	for i := range 20 {
		v := float64(i) / 19
		x, y = append(x, []float64{v, 0.5}), append(y, 1.0)
		if v > 0.6 {
			y[i] = -1
		}
	}
	f := New(x, y, rand.New(rand.NewPCG(1, 2)))
	for v, want := range map[float64]float64{0.2: 1, 0.9: -1} {
		if m, _ := f.Predict([]float64{v, 0.5}); math.Abs(m-want) > 0.1 {
			t.Errorf("mean at %g is %g, want %g", v, m, want)
		}
	}
	_, far := f.Predict([]float64{0.1, 0.5})
	if _, near := f.Predict([]float64{0.6, 0.5}); near <= far {
		t.Errorf("variance at the step is %g, far from it %g: want more", near, far)
	}
}
