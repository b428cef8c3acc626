package objective

import (
	"math"
	"testing"

	"knee/data"
	"knee/predict"
)

// A step of 1 s in nine cases of ten and of 91 s in the tenth takes 10 s in expectation:
// the speed planned with is a tenth of the likely one, and risk moves the seconds per
// sample from there to the upper end of their interval.
func TestSpeedOfALongTail(t *testing.T) {
	a := predict.Answer{StepTime: data.Estimate{Mean: 1, Lo: 1, Hi: 91}, Expected: 10,
		Goodput: data.Estimate{Mean: 100, Lo: 100. / 91, Hi: 100}}
	for risk, perSample := range map[float64]float64{0: .1, .5: (.1 + .91) / 2, 1: .91} {
		if v := (Subject{Risk: risk}).Speed(a); math.Abs(v*perSample-1) > 1e-9 {
			t.Errorf("risk %g: %g samples/s, want %g", risk, v, 1/perSample)
		}
	}
	a.Expected, a.Goodput.Lo = 0, 90 // without a posterior the likely step time is expected
	if v := (Subject{}).Speed(a); v != 100 {
		t.Errorf("%g samples/s, want 100", v)
	}
	a.Expected, a.StepTime.Hi = 2, 1.2 // an interval that lies below the expectation
	if v := (Subject{Risk: 1}).Speed(a); math.Abs(v-50) > 1e-9 {
		t.Errorf("at full risk %g samples/s, want at most the expected 50", v)
	}
}
