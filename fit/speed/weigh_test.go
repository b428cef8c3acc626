package speed

import (
	"math"
	"slices"
	"testing"
)

// A proposal far likelier than 99 others counts 11 times as much, which is √100 times
// the mean of them all; equal ones count as they are.
func TestImportance(t *testing.T) {
	ln := make([]float64, 100)
	if w, evidence := importance(slices.Repeat([]float64{3}, 100)); math.Abs(evidence-3) > 1e-12 || w[0] != w[99] {
		t.Errorf("of equal weights: evidence %g, weights %g and %g", evidence, w[0], w[99])
	}
	ln[7] = 20
	w, evidence := importance(ln)
	if ratio := w[7] / w[8]; math.Abs(ratio-11) > 1e-6 {
		t.Errorf("the largest weight is %g of another, want 11", ratio)
	}
	if want := math.Log((11 + 99) / 100.); math.Abs(evidence-want) > 1e-9 {
		t.Errorf("evidence %g, want %g", evidence, want)
	}
}
