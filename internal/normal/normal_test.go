package normal

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Derivatives check: that of ln Φ is the slope of [Probit], that of ln(φ + u·Φ) is the
// ratio Φ/(φ + u·Φ), also where series replace the formulas.
func TestDerivatives(t *testing.T) {
	const h = 1e-4
	for _, u := range []float64{-60, -36, -34, -20, -5, -1.5, -.5, 0, 1, 4} {
		slope, curve := Probit(u, true)
		if got := (LogCDF(u+h) - LogCDF(u-h)) / (2 * h); math.Abs(got-slope) > 1e-4*max(1, math.Abs(slope)) {
			t.Errorf("slope of ln Φ at %g is %g, by differences %g", u, slope, got)
		}
		up, _ := Probit(u+h, true)
		down, _ := Probit(u-h, true)
		if got := -(up - down) / (2 * h); math.Abs(got-curve) > 1e-3 {
			t.Errorf("curvature of ln Φ at %g is %g, by differences %g", u, curve, got)
		}
		want := math.Exp(LogCDF(u) - LogImprovement(u))
		if got := (LogImprovement(u+h) - LogImprovement(u-h)) / (2 * h); math.Abs(got-want) > 1e-3*want {
			t.Errorf("slope of the improvement at %g is %g, by differences %g", u, want, got)
		}
	}
	if no, _ := Probit(1, false); no != -math.Exp(distuv.UnitNormal.LogProb(1)-LogCDF(-1)) {
		t.Errorf("slope of ln Φ(−1) is %g", no)
	}
}
