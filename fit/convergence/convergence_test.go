package convergence

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

// noisyCurve is a power law with reproducible noise.
func noisyCurve(n int, rate, noise float64, seed uint64) []data.CurvePoint {
	rng := newTestRand(seed)
	var ps []data.CurvePoint
	for i := range n {
		x := float64(i + 1)
		ps = append(ps, curvePoint(x, 2*math.Pow(1+rate*x, -.7)+.3+noise*rng.NormFloat64()))
	}
	return ps
}

// Fits recover Optimus's curve from its points, and StepsTo inverts At.
func TestOptimusRecoversItself(t *testing.T) {
	truth := OptimusCurve{.21, 1.07, .07} // Seq2Seq, Optimus figure 7
	c, err := Fit(curveOf(truth, 60, 1), 0, Settings{Family: Optimus})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{5, 60, 120} {
		if got, want := c.Course(nil).Band(x).Mean, truth.At(x); math.Abs(got/want-1) > .01 {
			t.Errorf("loss at %v is %g, want %g", x, got, want)
		}
	}
	target := truth.At(90)
	if x, ok := truth.StepsTo(target); !ok || math.Abs(x-90) > 1e-6 {
		t.Errorf("the inverse gives %v, %v; want 90", x, ok)
	}
	if e, err := stepsTo(c, target); err != nil || math.Abs(e.Mean/90-1) > .05 || e.Lo > e.Mean || e.Hi < e.Mean {
		t.Errorf("steps to %g: %+v, %v; want 90", target, e, err)
	}
	if _, err := Fit(noisyCurve(9, .3, 0, 1), 0, Settings{Family: "cubic"}); err == nil || !strings.Contains(err.Error(), Optimus) {
		t.Errorf("an unknown family: %v", err)
	}
}

// A lower target takes no less time; units of loss and steps do not matter.
func TestTargetsAreMonotoneAndScaleFree(t *testing.T) {
	for seed := range uint64(8) { // each is too slow for a hundred draws
		rng := newTestRand(seed)
		ps := noisyCurve(6+rng.IntN(10), .2, .02, seed)
		scale := math.Exp(4 * rng.NormFloat64())
		scaled := slices.Clone(ps)
		for i := range scaled {
			scaled[i].Loss *= scale
			scaled[i].Progress *= 64
		}
		a, errA := Fit(ps, 0, Settings{})
		b, errB := Fit(scaled, 0, Settings{})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		low := a.Lows[len(a.Lows)-1].Loss * a.Scale
		before := 0.0
		for _, part := range []float64{.99, .97, .95} {
			x, errX := stepsTo(a, part*low)
			y, errY := stepsTo(b, part*low*scale)
			if (errX == nil) != (errY == nil) {
				t.Fatalf("%v but scaled %v", errX, errY)
			}
			if errX != nil {
				break
			}
			if math.Abs(y.Mean/64/x.Mean-1) > 1e-6 {
				t.Fatalf("%g steps, scaled %g", x.Mean, y.Mean/64)
			}
			if x.Mean < before || x.Lo > x.Mean || x.Hi < x.Mean || x.Lo < a.LastX {
				t.Fatalf("%+v after %g", x, before)
			}
			before = x.Mean
		}
	}
}

func TestOddCurvesAnswerOrSayWhy(t *testing.T) {
	nan := math.NaN()
	curve := func(ls ...float64) []data.CurvePoint {
		var ps []data.CurvePoint
		for i, l := range ls {
			ps = append(ps, curvePoint(float64(i+1), l))
		}
		return ps
	}
	tests := []struct {
		name   string
		points []data.CurvePoint
		target float64
		never  bool
	}{
		{"two points", curve(2, 1.8), 1.7, false},
		{"NaN and infinite rows", curve(2, nan, 1.5, math.Inf(1), 1.3, 1.2, 1.15), 1.1, false},
		{"constant", curve(1, 1, 1, 1, 1, 1), .5, true},
		{"all zero", curve(0, 0, 0, 0), -1, true},
		{"diverging", curve(1, 2, 4, 8, 16, 32), .5, true},
		{"negative", curve(-1, -1.5, -1.8, -1.95, -2), -2.02, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Fit(tt.points, 0, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.Target(tt.target)
			var never *NeverReachedError
			if errors.As(err, &never) != tt.never || (err != nil) != tt.never {
				t.Fatalf("%+v, %v", a, err)
			}
			if !tt.never && !(c.LastX <= a.Steps.Lo && a.Steps.Lo <= a.Steps.Mean && a.Steps.Mean <= a.Steps.Hi && finite(a.Steps.Hi)) {
				t.Errorf("%+v", a)
			}
		})
	}
	if _, err := Fit(curve(1), 0, Settings{}); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one point: %v", err)
	}
}

// Finished runs predict a learning-rate drop that the record alone cannot; so
// do milestones after a first drop.
func TestDropsAreForeseen(t *testing.T) {
	step := func(n int, noise float64) []data.CurvePoint {
		ps := noisyCurve(n, .5, noise, 7)
		for i := range ps {
			switch {
			case i >= 60:
				ps[i].Loss *= .36
			case i >= 30:
				ps[i].Loss *= .6
			}
		}
		return ps
	}
	full := step(90, .005)
	target := 1.02 * full[60].Loss // first met at 61
	with, err := Fit(step(20, .005), 0, Settings{Templates: [][]data.CurvePoint{full, step(90, .004)}})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := with.Target(target); err != nil || math.Abs(a.Steps.Mean-61) > 6 || a.Method != TemplateHits {
		t.Errorf("with templates: %+v, %v; want about 61", a, err)
	}
	known, err := Fit(step(45, .005), 0, Settings{PlannedEpochs: 90, Milestones: []float64{30, 60}})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := known.Target(1.05 * target); err != nil || math.Abs(a.Steps.Mean-61) > 6 {
		t.Errorf("with milestones: %+v, %v; want about 61", a, err)
	}
}

// The effect of the first listed cut is unknown: the target may be met there.
func TestFirstCutIsUnknown(t *testing.T) {
	c, err := Fit(noisyCurve(40, .5, .005, 7), 0, Settings{PlannedEpochs: 300, Milestones: []float64{100, 200}})
	if err != nil {
		t.Fatal(err)
	}
	after := c.fromLoss(c.Recorded[len(c.Recorded)-1].Loss) * .3
	a, err := c.Target(after)
	if err != nil || a.Steps.Lo > 100 || a.Steps.Hi < 100 || len(a.Notes) == 0 || !strings.Contains(strings.Join(a.Notes, "\n"), "at 100 steps is unknown") {
		t.Errorf("%+v, %v; want an interval that holds the cut, and a note", a, err)
	}
	soon, err := c.Target(c.fromLoss(c.Recorded[len(c.Recorded)-1].Loss) * .97)
	if err != nil || soon.Steps.Mean > 60 || soon.Steps.Lo < 40 {
		t.Errorf("before the cut: %+v, %v", soon, err)
	}
	if c, err = Fit(noisyCurve(40, .5, .005, 7), 0, Settings{Milestones: []float64{100}}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Target(.001); err == nil || !strings.Contains(err.Error(), "unless the learning-rate cut at 100 steps") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestStepsToConvergence(t *testing.T) {
	c, err := Fit(noisyCurve(20, .3, .002, 3), 0, Settings{PlannedEpochs: 100})
	if err != nil {
		t.Fatal(err)
	}
	loose, errA := c.StepsToConvergence(.008)
	tight, errB := c.StepsToConvergence(.004)
	if errA != nil || errB != nil || tight.Mean < loose.Mean || tight.Lo > tight.Mean || tight.Hi < tight.Mean {
		t.Errorf("%+v, %v then %+v, %v", loose, errA, tight, errB)
	}
	if seen, err := c.StepsToConvergence(1); err != nil || seen.Mean != 4 {
		t.Errorf("a rule that any three decreases meet: %+v, %v; want step 4", seen, err)
	}
	if _, err := c.StepsToConvergence(0); err == nil {
		t.Error("a rule without a decrease was accepted")
	}
	line, err := Fit(lossesOf(func(x float64) float64 { return 5 - .05*x }, 60, 0, true, 1), 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := line.StepsToConvergence(1e-3); err == nil || !strings.Contains(err.Error(), "never slows to a decrease below 0.001") {
		t.Errorf("a straight line: %+v, %v", e, err)
	}
}

// The order of points in a file does not matter.
func TestFileOrderDoesNotMatter(t *testing.T) {
	sorted := noisyCurve(40, .3, .01, 8)
	sorted[20].Loss = 9
	shuffled := slices.Clone(sorted)
	newTestRand(1).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	a, errA := Fit(sorted, 0, Settings{})
	b, errB := Fit(shuffled, 0, Settings{})
	if errA != nil || errB != nil || !slices.Equal(a.Recorded, b.Recorded) || !slices.Equal(a.Lows, b.Lows) {
		t.Errorf("%v, %v: %v and shuffled %v", errA, errB, a.Recorded[18:23], b.Recorded[18:23])
	}
}

// Epochs counted from 0 and from 1 have the same length, with one row per epoch
// or several.
func TestEpochsFromZero(t *testing.T) {
	for _, rows := range []int{1, 4} {
		for _, first := range []float64{0, 1} {
			ps := noisyCurve(10*rows, .3, .01, 8)
			for i := range ps {
				ps[i].Progress, ps[i].Step = math.NaN(), float64(i+1)*100/float64(rows)
				ps[i].Epoch = first + float64(i/rows)
			}
			c, err := Fit(ps, 0, Settings{PlannedEpochs: 50})
			if err != nil || math.Abs(c.Planned-5000) > 1e-6 {
				t.Errorf("%d rows per epoch from %g: planned %g steps, %v; want 50 epochs of 100", rows, first, c.Planned, err)
			}
		}
	}
}

// A record within one epoch does not tell how long it is; the dataset does.
func TestOneEpoch(t *testing.T) {
	for _, epoch := range []float64{0, 1} {
		ps := noisyCurve(40, .5, .005, 7)
		for i := range ps {
			ps[i].Epoch = epoch
		}
		c, err := Fit(ps, 10, Settings{PlannedEpochs: 2, Dataset: 1000})
		if err != nil || c.Planned != 200 || c.Pointwise {
			t.Errorf("epoch %g: planned %g steps, %v; want 2 epochs of 100", epoch, c.Planned, err)
		}
		if c, err = Fit(ps, 10, Settings{PlannedEpochs: 2}); err != nil || !c.Pointwise {
			t.Errorf("epoch %g without a dataset: an epoch of %g steps, %v", epoch, c.EpochSteps, err)
		}
	}
}

// A target that most curves meet only after the planned end says so.
func TestBeyondThePlan(t *testing.T) {
	for planned, late := range map[float64]bool{60: true, 5000: false} {
		c, err := Fit(noisyCurve(40, .05, .001, 7), 0, Settings{PlannedEpochs: planned})
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Target(.6)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, "the run as planned ends at") }); got != late {
			t.Errorf("planned %g: %+v", planned, a)
		}
	}
}

// The definition of reaching a target follows the record unless it is set.
func TestReachFollowsTheRecord(t *testing.T) {
	steps := noisyCurve(2000, .01, .1, 4)
	epochs := noisyCurve(40, .3, .1, 4)
	for i := range epochs {
		epochs[i].Epoch = float64(i + 1)
	}
	metric := noisyCurve(40, .3, .1, 4)
	for i := range metric {
		metric[i].Metric, metric[i].Loss = metric[i].Loss, math.NaN()
	}
	for _, tt := range []struct {
		name   string
		points []data.CurvePoint
		want   Reach
	}{{"loss of steps", steps, Smooth}, {"loss per epoch", epochs, Smooth}, {"metric", metric, First}} {
		c, err := Fit(tt.points, 0, Settings{})
		if err != nil || c.Reach != tt.want {
			t.Fatalf("%s: %q, %v, want %q", tt.name, c.Reach, err, tt.want)
		}
	}
	c, err := Fit(steps, 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	target := 2*math.Pow(1+.01*1000, -.7) + .3 // the curve at step 1000
	smooth, errA := c.Target(target)
	c.Reach = First
	first, errB := c.Target(target)
	if errA != nil || errB != nil || math.Abs(smooth.Steps.Mean/1000-1) > .1 || first.Steps.Mean > .7*smooth.Steps.Mean {
		t.Errorf("smooth %+v, first %+v (%v, %v), want about 1000 and much earlier", smooth, first, errA, errB)
	}
	if _, err := Fit(steps, 0, Settings{Reach: "soon"}); err == nil || !strings.Contains(err.Error(), "soon") {
		t.Errorf("a meaning that there is not: %v", err)
	}
}
