package speed

import (
	"math"
	"slices"
	"testing"
)

// A proposal far likelier than the others counts at most √n times the mean weight, in
// the draws and in the evidence; equal ones count as they are.
func TestImportance(t *testing.T) {
	ln := make([]float64, 100)
	if w, evidence := importance(slices.Repeat([]float64{3}, 100)); math.Abs(evidence-3) > 1e-12 || w[0] != w[99] {
		t.Errorf("of equal weights: evidence %g, weights %g and %g", evidence, w[0], w[99])
	}
	ln[7] = 20
	w, evidence := importance(ln)
	if ratio, want := w[7]/w[8], (math.Exp(20)+99)/10; math.Abs(ratio/want-1) > 1e-12 {
		t.Errorf("the largest weight is %g of another, want %g", ratio, want)
	}
	if want := math.Log(((math.Exp(20)+99)/10 + 99) / 100); math.Abs(evidence-want) > 1e-9 {
		t.Errorf("evidence %g, want %g", evidence, want)
	}
}
