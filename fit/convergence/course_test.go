package convergence

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/data"
)

// The course agrees with the answer: the target is inside the band at the
// answer, not yet reached where the interval begins, and reached where it ends.
func TestCourseAgreesWithAnswer(t *testing.T) {
	finished := [][]data.CurvePoint{noisyCurve(100, .28, .01, 91), noisyCurve(100, .33, .01, 92)}
	known := map[string]Settings{
		"alone":     {},
		"planned":   {PlannedEpochs: 100},
		"templates": {PlannedEpochs: 100, Templates: finished},
		"optimus":   {Family: Optimus},
	}
	for name, settings := range known {
		for seed := range uint64(4) {
			full := noisyCurve(100, .3, .01, seed)
			c, err := Fit(full[:25], 0, settings)
			if err != nil {
				t.Fatal(err)
			}
			target := 2*math.Pow(1+.3*60, -.7) + .3 // the noise-free curve at 60
			a, err := c.Target(target)
			if err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
				continue
			}
			course := c.Course(&target)
			// Noise makes the first hit earlier than the smooth curve.
			const slack = .02
			if b := course.Band(a.Steps.Mean); !(b.Lo <= target && target <= b.Hi+1e-9) || !(b.Lo <= b.Mean && b.Mean <= b.Hi) {
				t.Errorf("%s, seed %d: at step %.1f the band %+v leaves out the target %.4f", name, seed, a.Steps.Mean, b, target)
			}
			if b := course.Band(a.Steps.Lo); b.Hi < target {
				t.Errorf("%s, seed %d: all of %+v is past %.4f where the interval begins", name, seed, b, target)
			}
			if b := course.Band(a.Steps.Hi); b.Mean > target+slack {
				t.Errorf("%s, seed %d: the course is at %+v, above %.4f, where the interval ends", name, seed, b, target)
			}
		}
	}
}

// Without a target the course follows the record, rising or falling.
func TestCourseFollowsTheRecord(t *testing.T) {
	ps := noisyCurve(60, .3, .005, 5)
	up := make([]data.CurvePoint, len(ps))
	for i, p := range ps {
		up[i] = p
		up[i].Loss, up[i].Metric = math.NaN(), 1-p.Loss/3
	}
	falling, errA := Fit(ps, 0, Settings{})
	rising, errB := Fit(up, 0, Settings{})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	down, rise := falling.Course(nil), rising.Course(nil)
	for _, x := range []float64{5, 20, 40, 60, 90} {
		want := 2*math.Pow(1+.3*x, -.7) + .3
		if b := down.Band(x); math.Abs(b.Mean/want-1) > .08 || b.Hi < b.Mean || b.Lo > b.Mean {
			t.Errorf("at %g: %+v, want about %.3f", x, b, want)
		}
		if b := rise.Band(x); math.Abs(b.Mean-(1-want/3)) > .08*want/3 || b.Hi < b.Mean || b.Lo > b.Mean {
			t.Errorf("a rising metric at %g: %+v, want about %.3f", x, b, 1-want/3)
		}
	}
	if b := down.Band(200); !(b.Hi-b.Lo > down.Band(60).Hi-down.Band(60).Lo) {
		t.Errorf("the band does not widen ahead of the record: %+v", b)
	}
	// Values come back in their own units.
	for i := range ps {
		ps[i].Loss *= 1000
	}
	scaled, err := Fit(ps, 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := down.Band(90).Mean, scaled.Course(nil).Band(90).Mean; math.Abs(b/a/1000-1) > 1e-9 {
		t.Errorf("%g, of thousandfold losses %g", a, b)
	}
}

// A record that falls in a line and then bends at once is described after the bend
// only: the course begins there, near what was recorded.
func TestCourseBeginsAfterAnInferredCut(t *testing.T) {
	var points []data.CurvePoint
	rng := newTestRand(5)
	for k := 1.; k <= 120; k++ {
		loss := 2.4 - .015*k
		if k > 60 {
			loss = 1.2 + .1*math.Exp(-(k-60)/20)
		}
		points = append(points, curvePoint(k, loss+.02*rng.NormFloat64()))
	}
	c, err := Fit(points, 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	course := c.Course(nil)
	if !course.Cut || course.From < 40 || course.From > 75 {
		t.Fatalf("the course begins at step %g, cut %v; want near 60, after a cut", course.From, course.Cut)
	}
	if e := course.Band(80); e.Lo > 1.237 || e.Hi < 1.237 {
		t.Errorf("80 steps: %+v, want 1.237 inside", e)
	}
}

// Every question about any record has finite, ordered numbers or an error as
// its answer.
func TestOddRecordsHaveACourse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	curve := func(ls ...float64) []data.CurvePoint {
		var ps []data.CurvePoint
		for i, l := range ls {
			ps = append(ps, curvePoint(float64(i+1), l))
		}
		return ps
	}
	spiked := noisyCurve(40, .3, .01, 2)
	spiked[20].Loss = 1e12
	backwards := noisyCurve(30, .3, .01, 3)
	for i := range backwards {
		backwards[i].Progress = 31 - backwards[i].Progress
	}
	same := curve(3, 2, 1)
	for i := range same {
		same[i].Progress = 7
	}
	records := map[string][]data.CurvePoint{
		"two points": curve(2, 1.8), "constant": curve(1, 1, 1, 1, 1, 1), "all zero": curve(0, 0, 0),
		"diverging": curve(1, 2, 4, 8, 16), "holes": curve(2, nan, 1.5, inf, 1.3, -inf, 1.2), "negative": curve(-1, -1.5, -1.8, -2),
		"huge losses": curve(1e300, 5e299, 2e299), "tiny losses": curve(1e-300, 5e-301, 2e-301), "one spike": spiked,
		"backwards": backwards, "one step": same, "one point": curve(1), "nothing": nil, "only NaN": curve(nan, nan, nan),
	}
	for name, ps := range records {
		for _, s := range []Settings{{}, {PlannedEpochs: 20, Milestones: []float64{2, 15}},
			{Templates: [][]data.CurvePoint{noisyCurve(30, .3, .01, 4)}}, {Family: Optimus}} {
			c, err := Fit(ps, 0, s)
			var bad *data.InputError
			if err != nil {
				if !errors.As(err, &bad) || bad.Found == "" || bad.Want == "" {
					t.Errorf("%s: %v, want an error that says what was found and wanted", name, err)
				}
				continue
			}
			last := c.fromLoss(c.Recorded[len(c.Recorded)-1].Loss)
			for _, target := range []float64{last / 2, last - 1} {
				checkAnswer(t, name, c, target)
			}
			if e, err := c.StepsToConvergence(.01); err == nil && !ordered(e) {
				t.Errorf("%s: converged after %+v", name, e)
			}
		}
	}
}

// An answer visits each drawn curve at most once per cell of a bounded grid:
// the work does not depend on the record.
func TestWorkIsBounded(t *testing.T) {
	for seed := range uint64(60) {
		rng := newTestRand(seed)
		ps := noisyCurve(2+rng.IntN(8), .3, .01, seed)
		for range 1 + rng.IntN(3) {
			i, j := rng.IntN(len(ps)), rng.IntN(len(ps))
			switch huge := math.Pow(10, 12*rng.Float64()); rng.IntN(5) {
			case 0:
				ps[i].Loss = huge
			case 1:
				ps[i].Loss = ps[j].Loss
			case 2:
				ps[i].Progress = ps[j].Progress
			case 3:
				ps[i].Progress *= huge
			case 4:
				ps[i].Loss = -huge
			}
		}
		for _, planned := range []float64{0, 100, 1e6} {
			c, err := Fit(ps, 0, Settings{PlannedEpochs: planned})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			low := c.fromLoss(c.Lows[len(c.Lows)-1].Loss)
			for _, c.Reach = range []Reach{First, Smooth} {
				p, a := c.arrive(c.lowest()-.1, math.Inf(1))
				if len(p.draws) > drawCount || len(a.x) > 2*mostCells {
					t.Errorf("seed %d, planned %g: %d curves at %d moments", seed, planned, len(p.draws), len(a.x))
				}
			}
			checkAnswer(t, fmt.Sprintf("seed %d", seed), c, low-math.Abs(low)/10)
		}
	}
	if _, err := Fit(noisyCurve(6, .3, .01, 1), 0, Settings{PlannedEpochs: 1e300}); err == nil {
		t.Error("a plan of 1e300 epochs was accepted")
	}
}

// checkAnswer checks the answer for a target and the course to it.
func checkAnswer(t *testing.T, name string, c *Curve, target float64) {
	t.Helper()
	a, err := c.Target(target)
	var never *NeverReachedError
	switch {
	case err == nil:
		if !ordered(a.Steps) || !(a.Chance > 0 && a.Chance <= 1) {
			t.Errorf("%s, target %g: %+v", name, target, a)
		}
	case !errors.As(err, &never):
		t.Errorf("%s, target %g: %v", name, target, err)
	case !finite(never.Floor) || !(never.Chance >= 0 && never.Chance < .5):
		t.Errorf("%s, target %g: %+v", name, target, never)
	}
	course := c.Course(&target)
	for _, x := range []float64{0, 3 * c.LastX} {
		if b := course.Band(x); !ordered(b) {
			t.Errorf("%s, target %g: at %g the course is %+v", name, target, x, b)
		}
	}
}

func ordered(e data.Estimate) bool {
	return finite(e.Lo) && finite(e.Hi) && e.Lo <= e.Mean && e.Mean <= e.Hi
}

// A million points give the same answer as their averages over stretches.
func TestHugeRecord(t *testing.T) {
	const n = 1_000_000
	rng := newTestRand(11)
	truth := func(x float64) float64 { return 2*math.Pow(1+.0001*x, -.7) + .3 }
	ps := make([]data.CurvePoint, n)
	for i := range ps {
		ps[i] = curvePoint(float64(i+1), truth(float64(i+1))+.1*rng.NormFloat64())
	}
	target := truth(2*n) - .3 // the minimum of so many noisy points is far below the curve
	for family, n := range map[string]int{Auto: n, "optimus": n / 10} {
		ps := ps[:n]
		c, err := Fit(ps, 0, Settings{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Recorded) > mostRecorded || len(c.Lows) > 64 || c.Points != n {
			t.Errorf("%s keeps %d stretches and %d lows of %d points", family, len(c.Recorded), len(c.Lows), c.Points)
		}
		if got, want := c.Course(nil).Band(float64(n/2)).Mean, truth(float64(n/2)); math.Abs(got/want-1) > .2 {
			t.Errorf("%s: loss %g in the middle, want %g", family, got, want)
		}
		if _, err := c.Target(target); err != nil {
			var never *NeverReachedError
			if !errors.As(err, &never) {
				t.Error(err)
			}
		}
	}
}

// Invalid plans are refused; a plan in the past gives a note.
func TestPlansAreChecked(t *testing.T) {
	ps := noisyCurve(20, .3, .01, 8)
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range []Settings{{PlannedEpochs: -1}, {PlannedEpochs: nan}, {PlannedEpochs: inf},
		{Milestones: []float64{5, 0}}, {Milestones: []float64{nan}}, {Milestones: []float64{inf}}} {
		var bad *data.InputError
		if _, err := Fit(ps, 0, s); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	c, err := Fit(ps, 0, Settings{PlannedEpochs: 15})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Target(.9 * c.fromLoss(c.Lows[len(c.Lows)-1].Loss))
	if err != nil || len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "has passed") {
		t.Errorf("%+v, %v; want a note that the planned end has passed", a, err)
	}
}
