package speed

import (
	"math"
	"slices"
	"testing"
)

// A proposal far likelier than the others counts at most √n times the mean weight, in
// the draws and in the evidence; equal ones count as they are.
func TestImportance(t *testing.T) {
	if w, evidence := importance(slices.Repeat([]float64{3}, 100), 2); math.Abs(evidence-3) > 1e-12 || w[0] != w[99] {
		t.Errorf("of equal weights: evidence %g, weights %g and %g", evidence, w[0], w[99])
	}
	once := (math.Exp(20) + 99) / 10
	for truncations, want := range map[int]float64{1: once, 2: (once + 99) / 10} {
		ln := make([]float64, 100)
		ln[7] = 20
		w, evidence := importance(ln, truncations)
		if ratio := w[7] / w[8]; math.Abs(ratio/want-1) > 1e-9 {
			t.Errorf("truncated %d times the largest weight is %g of another, want %g", truncations, ratio, want)
		}
		if of := math.Log((want + 99) / 100); math.Abs(evidence-of) > 1e-9 {
			t.Errorf("truncated %d times: evidence %g, want %g", truncations, evidence, of)
		}
	}
}

// Where few proposals are plausible, they keep nearly all of the weight.
func TestFewPlausibleProposals(t *testing.T) {
	for _, rest := range []float64{-20, -800, math.Inf(-1)} {
		ln := slices.Repeat([]float64{rest}, 512)
		for i := range 5 {
			ln[100*i] = 0
		}
		w, evidence := importance(ln, 2)
		sum := 0.
		for _, v := range w {
			sum += v
		}
		if share := 5 * w[0] / sum; share < .99 || math.IsInf(evidence, 0) || math.IsNaN(evidence) {
			t.Errorf("beside others at %g: five plausible proposals have %g of the weight, evidence %g", rest, share, evidence)
		}
	}
}
