package convergence

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

func curvePoint(x, loss float64) data.CurvePoint {
	nan := math.NaN()
	return data.CurvePoint{Step: nan, Epoch: nan, Progress: x, Loss: loss, Metric: nan, GlobalBatch: nan, GradSqr: nan, GradVar: nan}
}

// curveOf generates n points of a curve over x = 1..n, times scale.
func curveOf(c OptimusCurve, n int, scale float64) []data.CurvePoint {
	var ps []data.CurvePoint
	for i := range n {
		x := float64(i + 1)
		ps = append(ps, curvePoint(x, scale*c.At(x)))
	}
	return ps
}

// Fits recover the published coefficients of Seq2Seq (Optimus, EuroSys'18,
// figure 7) from points they generate. Losses are divided by the largest one,
// and β is scaled back.
func TestConvergenceGolden(t *testing.T) {
	want := OptimusCurve{.21, 1.07, .07}
	own, err := Fit(curveOf(want, 60, 1), 0, Settings{Family: "optimus"})
	if err != nil {
		t.Fatal(err)
	}
	form := own.optimus()
	got := []float64{form.Beta0 / own.Scale, form.Beta1 / own.Scale, form.Beta2 * own.Scale}
	for i, w := range []float64{want.Beta0, want.Beta1, want.Beta2} {
		if math.Abs(got[i]-w) > 1e-5 {
			t.Errorf("β%d = %.7f, want %v", i, got[i], w)
		}
	}
	// 1/(l − β2) = β0·x + β1 solved for l = 0.1 by hand
	wantX := (1/(.1-.07) - 1.07) / .21
	if x, ok := form.StepsTo(.1 / own.Scale); !ok || math.Abs(x/wantX-1) > 1e-3 {
		t.Errorf("the form reaches 0.1 at %.1f, want %.1f", x, wantX)
	}
	c, err := Fit(curveOf(want, 60, 1), 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := stepsTo(c, .1)
	if err != nil || !(60 <= e.Lo && e.Lo < wantX && wantX < e.Hi) || e.Mean < e.Lo || e.Mean > e.Hi {
		t.Errorf("steps to 0.1: %+v, %v; want an interval around %.1f", e, err, wantX)
	}
}

func TestConvergenceRecoversCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(name string, lo, hi float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, name))
		}
		truth := OptimusCurve{f("b0", .05, 1), f("b1", .3, 3), f("b2", .01, .5)}
		scale := f("scale", .1, 100)
		n := rapid.IntRange(20, 80).Draw(t, "n")
		c, err := Fit(curveOf(truth, n, scale), 0, Settings{Family: "optimus"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{1, float64(n), 2 * float64(n)} {
			if got, want := c.Course(nil).Band(x).Mean, scale*truth.At(x); math.Abs(got/want-1) > .01 {
				t.Fatalf("loss at %v is %g, want %g", x, got, want)
			}
		}
	})
}

func TestStepsToSeenAndUnreachable(t *testing.T) {
	c, err := Fit(curveOf(OptimusCurve{.5, 1, .2}, 400, 1), 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := stepsTo(c, c.Course(nil).Band(10).Mean)
	if err != nil || math.Abs(seen.Mean-10) > 1 || seen.Lo > 10 || seen.Hi < 10 {
		t.Errorf("a loss the run reached at 10: %+v, %v", seen, err)
	}
	var never *NeverReachedError
	if _, err := stepsTo(c, .1); !errors.As(err, &never) {
		t.Fatalf("below the floor: %v", err)
	} else if math.Abs(never.Floor-.2) > .01 || never.Chance > .5 {
		t.Errorf("%+v, want a floor of 0.2", never)
	}
	if _, err := stepsTo(c, math.NaN()); err == nil {
		t.Error("NaN is not a target")
	}
}

// A flat or rising record meets a higher target from its first point on, not in
// the middle of the level that smoothing makes of it.
func TestMetFromTheBeginning(t *testing.T) {
	for name, loss := range map[string]func(i int) float64{
		"flat": func(int) float64 { return 2.5 }, "rising": func(i int) float64 { return 1 + .01*float64(i) }, "falling": func(i int) float64 { return 2 / float64(i+1) },
	} {
		for _, n := range []int{20, 500} {
			for _, reach := range []Reach{First, Smooth} {
				var points []data.CurvePoint
				for i := range n {
					points = append(points, curvePoint(float64(i+1), loss(i)))
				}
				c, err := Fit(points, 0, Settings{Reach: reach})
				if err != nil {
					t.Fatal(err)
				}
				a, err := c.Target(9)
				if first := float64(n)/128 + 1; err != nil || a.Steps.Mean > first || a.Steps.Hi > first || a.Steps.Lo > a.Steps.Mean || len(a.Notes) != 1 {
					t.Errorf("%s, %d points, %s: met at %+v, notes %q, error %v", name, n, reach, a.Steps, a.Notes, err)
				}
			}
		}
	}
}

func TestRisingMetric(t *testing.T) {
	points := curveOf(OptimusCurve{.3, 1.2, .05}, 40, 1)
	for i := range points {
		points[i].Metric, points[i].Loss = 1-points[i].Loss, math.NaN()
	}
	c, err := Fit(points, 0, Settings{})
	if err != nil || c.Rising == nil || c.Rising.Ceiling != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	want := (1/(1-.9-.05) - 1.2) / .3 // the form solved for 0.9 by hand
	if e, err := stepsTo(c, .9); err != nil || e.Lo > want || e.Hi < want {
		t.Errorf("steps to 0.9: %+v, %v; want %.1f", e, err, want)
	}
}

// Steps at another batch count in proportion to their samples.
func TestCurveStepsAreScaledByBatch(t *testing.T) {
	points := curveOf(OptimusCurve{.3, 1, .1}, 30, 1)
	for i := range points {
		points[i].Step, points[i].Progress, points[i].GlobalBatch = points[i].Progress, math.NaN(), 512
	}
	c, err := Fit(points, 128, Settings{})
	if err != nil || c.LastX != 120 {
		t.Errorf("last x %v, error %v; want 30 × 512/128 = 120", c.LastX, err)
	}
}

func newTestRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func stepsTo(c *Curve, target float64) (data.Estimate, error) {
	a, err := c.Target(target)
	return a.Steps, err
}

// Targets a little below the end of a smooth record are met when it goes on, however
// close to its limit.
func TestTargetsJustAhead(t *testing.T) {
	for _, epochs := range []int{20, 24, 25, 30} {
		course := func(x float64) float64 { return 20 + 100*math.Exp(-x/4000) }
		var points []data.CurvePoint
		for e := range epochs {
			x := float64(e) * 1000
			points = append(points, data.CurvePoint{Run: "r", Step: x, Progress: x, Loss: math.Round(1000*course(x)) / 1000})
		}
		c, err := Fit(points, 0, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []float64{.8, .5, .3} {
			last := float64(epochs-1) * 1000
			truth := last - 4000*math.Log(left)
			a, err := c.Target(course(truth))
			if err != nil || a.Chance < .5 || truth < a.Steps.Lo || truth > a.Steps.Hi {
				t.Errorf("%d epochs, %g of the way left: after %v with probability %.2f, %v; truth %.0f", epochs, left, a.Steps, a.Chance, err, truth)
			}
		}
	}
}

// A loss that was never negative, as a power of the steps, does not fall below 0; one that
// was may go on.
func TestLossesKeepTheirSign(t *testing.T) {
	for shift, reachable := range map[float64]bool{0: false, -.8: true} {
		var points []data.CurvePoint
		for i := range 30 {
			points = append(points, curvePoint(float64(10*(i+1)), 2*math.Pow(float64(i+1), -.3)+.02*math.Sin(float64(3*i))+shift))
		}
		c, err := Fit(points, 0, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Target(shift - .05)
		var never *NeverReachedError
		if !errors.As(err, &never) && err != nil || never != nil && never.Chance > 0 != reachable || never == nil && a.Chance > 0 != reachable {
			t.Errorf("shifted by %g: %+v, %v, want a chance %v", shift, a, err, reachable)
		}
	}
}

// A target just above 0 is as improbable as curves that end between 0 and it, though the
// record would also go on below 0.
func TestTargetsJustAboveZero(t *testing.T) {
	var points []data.CurvePoint
	for i := range 20 {
		points = append(points, curvePoint(float64(10*(i+1)), .5+1.5*math.Exp(-float64(i)/15)+.03*math.Sin(float64(3*i))))
	}
	c, err := Fit(points, 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Target(.05); err != nil || a.Chance > .3 {
		t.Errorf("%+v, %v, want at most 30 %%", a, err)
	}
}
