package bayesopt

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func relative(got, want float64) float64 {
	return math.Abs(got-want) / math.Max(math.Abs(want), math.SmallestNonzeroFloat64)
}

// Reference values: ln(φ(u) + u·Φ(u)) with mpmath 1.3 at 400 digits, from
// u = −100 by its asymptotic series at 60 digits.
func TestLogImprovement(t *testing.T) {
	for _, c := range []struct{ u, want float64 }{
		{3, 1.0987396653277077727},
		{0, -0.91893853320467274178},
		{-0.5, -1.6205162643873199193},
		{-0.999, -2.4832171154475854412},
		{-1.001, -2.4870256579553892129},
		{-5, -16.744301162660990143},
		{-20, -206.91783850942509785},
		{-34.9, -617.03136818586166051},
		{-35.1, -624.04276895825903909},
		{-1e2, -5010.1295788002497923},
		{-1e4, -50000019.339619307157},
	} {
		if got := LogEI(-c.u, 1, 0); relative(got, c.want) > 1e-12 {
			t.Errorf("LogEI at u = %g is %.17g, want %.17g", c.u, got, c.want)
		}
	}
	if got := LogEI(1, 0, 3); got != math.Log(2) {
		t.Errorf("LogEI without variance = %g, want ln 2", got)
	}
	if got := LogEI(3, 0, 1); !math.IsInf(got, -1) {
		t.Errorf("LogEI without variance or improvement = %g, want −Inf", got)
	}
}

// LogEI increases with best, is never NaN, and is invariant to shifts and
// scales like an expected amount.
func TestAcquisitionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := rapid.Float64Range(-50, 50).Draw(t, "mean")
		sd := rapid.Float64Range(1e-6, 50).Draw(t, "sd")
		best := rapid.Float64Range(-50, 50).Draw(t, "best")
		more := best + rapid.Float64Range(1e-3, 10).Draw(t, "more")
		if a, b := LogEI(mu, sd, best), LogEI(mu, sd, more); !(a < b) {
			t.Errorf("LogEI(%g, %g, ·) is %g at %g and %g at %g, want growth", mu, sd, a, best, b, more)
		}
		if a, b := LogEI(mu, sd, best)+math.Log(2), LogEI(2*mu, 2*sd, 2*best); math.Abs(a-b) > 1e-9*math.Max(1, math.Abs(a)) {
			t.Errorf("doubling the scale changes LogEI by %g, want ln 2", b-a+math.Log(2))
		}
	})
}

func TestPredictive(t *testing.T) {
	p := Predictive{Mean: []float64{0, 2}, SD: []float64{1, 1}, Weight: []float64{0.5, 0.5}}
	if m, sd := p.Moments(); m != 1 || math.Abs(sd-math.Sqrt2) > 1e-15 {
		t.Errorf("Moments = %g, %g, want 1, √2", m, sd)
	}
	if q := p.Quantile(0.5); math.Abs(q-1) > 1e-9 {
		t.Errorf("median = %g, want 1 by symmetry", q)
	}
	for _, p.Freedom = range []float64{0, 3} {
		if q := p.Quantile(0.05); math.Abs(p.Below(q)-0.05) > 1e-9 {
			t.Errorf("P(below the 5 %% quantile) = %g with %g degrees of freedom", p.Below(q), p.Freedom)
		}
	}
	want := math.Log(0.5*math.Exp(LogEI(0, 1, 1)) + 0.5*math.Exp(LogEI(2, 1, 1)))
	if got := p.Average(LogEI, 1); math.Abs(got-want) > 1e-12 {
		t.Errorf("average LogEI = %g, want %g", got, want)
	}
}

// With σ² integrated out a single distribution is Student's t: of three degrees
// of freedom 0.0289 is below minus three, of a normal one 0.0013.
func TestTails(t *testing.T) {
	p := Predictive{Mean: []float64{1}, SD: []float64{2}, Weight: []float64{1}, Freedom: 3}
	if got := p.Below(1 - 2*3); math.Abs(got-0.0288) > 1e-4 {
		t.Errorf("P(below minus three) = %g, want 0.0288", got)
	}
	if got := p.Below(math.Inf(1)); got != 1 {
		t.Errorf("P(below +Inf) = %g, want 1", got)
	}
}

// The mean of times that are cut off at a limit equals the integral.
func TestStoppedTime(t *testing.T) {
	const mean, sd, steps = 0.3, 0.7, 200_000
	p := Predictive{Mean: []float64{mean}, SD: []float64{sd}, Weight: []float64{1}}
	for _, longest := range []float64{-5, 0.3, 1, 8} {
		want, width := 0.0, 20*sd/steps
		for k := range steps {
			y := mean - 10*sd + (float64(k)+0.5)*width
			want += math.Exp(min(y, longest)) * distuv.UnitNormal.Prob((y-mean)/sd) / sd * width
		}
		if got := p.stopped(longest); relative(got, want) > 1e-6 {
			t.Errorf("stopped at e^%g: %g, want %g", longest, got, want)
		}
	}
	p.SD[0] = 0
	if got := p.stopped(0); got != 1 {
		t.Errorf("a certain time of e^0.3 stopped at one: %g, want 1", got)
	}
}

// logEIWithin equals the integral over y in time.
func TestLogEIWithin(t *testing.T) {
	const mean, sd, best, steps = 0.3, 0.7, 1.1, 200_000
	for _, longest := range []float64{-1, 0.5, 1.1, 2} {
		want, low := 0.0, mean-10*sd
		width := (min(best, longest) - low) / steps
		for k := range steps {
			y := low + (float64(k)+0.5)*width
			want += (best - y) * distuv.UnitNormal.Prob((y-mean)/sd) / sd * width
		}
		if got := math.Exp(logEIWithin(mean, sd, best, longest)); relative(got, want) > 1e-6 {
			t.Errorf("improvement on %g within %g is %g, want %g", best, longest, got, want)
		}
	}
}

// Weights add up to one only up to rounding; a probability is at most one.
func TestBelowIsAProbability(t *testing.T) {
	p := Predictive{}
	for range 10 {
		p.Mean, p.SD, p.Weight = append(p.Mean, 0), append(p.SD, 1), append(p.Weight, .1000000000000001)
	}
	if below := p.Below(100); below != 1 {
		t.Errorf("probability %.17g, want 1", below)
	}
}
