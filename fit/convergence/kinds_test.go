package convergence

import (
	"errors"
	"math"
	"strings"
	"testing"

	"knee/data"
)

// kindOfCurve is a kind of training curve, as functions of the epoch.
type kindOfCurve struct {
	name   string
	at     func(x float64) float64
	noise  float64
	looks  int // points per epoch
	rising bool
}

func kindsOfCurves() []kindOfCurve {
	power := func(x float64) float64 { return 2*math.Pow(1+.3*x, -.7) + .3 }
	accuracy := func(x float64) float64 { return .95 - .85*math.Exp(-math.Pow(x/15, .6)) }
	return []kindOfCurve{
		{"power law", power, .01, 1, false},
		{"noisy power law", power, .03, 1, false},
		{"negative losses", func(x float64) float64 { return power(x) - 2 }, .01, 1, false},
		{"exponential", func(x float64) float64 { return 2*math.Exp(-x/25) + .3 }, .01, 1, false},
		{"accuracy", accuracy, .005, 1, true},
		{"percentage", func(x float64) float64 { return 100 * accuracy(x) }, .5, 1, true},
		{"score", func(x float64) float64 { return 30 - 28*math.Exp(-x/30) }, .3, 1, true},
		{"reward", func(x float64) float64 { return 900 - 1100*math.Exp(-x/30) }, 20, 1, true},
		{"plateau at the start", func(x float64) float64 { return power(math.Max(x-4, 0)) }, .01, 1, false},
		{"every step, without noise", power, 0, 100, false},
		{"every step, noisy", power, .1, 100, false},
	}
}

// record returns the first epochs of a run.
func (k kindOfCurve) record(epochs int, seed uint64) []data.CurvePoint {
	rng := newTestRand(seed)
	var ps []data.CurvePoint
	for i := range epochs * k.looks {
		x := float64(i+1) / float64(k.looks)
		p := curvePoint(x, k.at(x)+k.noise*rng.NormFloat64())
		p.Epoch = x
		if k.rising {
			p.Loss, p.Metric = math.NaN(), p.Loss
		}
		ps = append(ps, p)
	}
	return ps
}

// For curves of many kinds outside the grid, the interval contains the time to
// the target, and of the first noisy hit, in nine of ten cases.
func TestKindsOfCurvesAreForeseen(t *testing.T) {
	var asked, held float64
	for _, k := range kindsOfCurves() {
		for _, planned := range []float64{0, 100} {
			for _, seen := range []int{10, 20, 40} {
				c, err := Fit(k.record(seen, 7), 0, Settings{PlannedEpochs: planned})
				if err != nil {
					t.Fatalf("%s: %v", k.name, err)
				}
				for _, at := range []float64{50, 75} {
					a, err := c.Target(k.at(at))
					asked++
					if err != nil { // wrongly never reached
						t.Logf("%s, %d epochs seen of %g: %v", k.name, seen, planned, err)
						continue
					}
					if a.Steps.Lo <= at && .85*at <= a.Steps.Hi {
						held++
					} else {
						t.Logf("%s, %d epochs seen of %g: %+v, want %g", k.name, seen, planned, a.Steps, at)
					}
				}
			}
		}
	}
	if held < .9*asked {
		t.Errorf("%g of %g intervals hold the truth", held, asked)
	}
}

// One low value among thousands of noisy losses does not reach the target.
func TestNoiseOfStepsIsNotProgress(t *testing.T) {
	ks := kindsOfCurves()
	k := ks[len(ks)-1]
	c, err := Fit(k.record(60, 3), 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []float64{10, 25, 40} {
		a, err := c.Target(k.at(at))
		if err != nil || a.Method != "recorded" || math.Abs(a.Steps.Mean/at-1) > .25 {
			t.Errorf("%+v, %v; want about %g", a, err, at)
		}
	}
}

// A curve that has levelled off or rises does not reach lower targets, and the
// error gives the reason.
func TestNeverSaysWhy(t *testing.T) {
	level := kindOfCurve{at: func(x float64) float64 { return .5 + 1.7*math.Exp(-x/5) }, noise: .001, looks: 1}
	rising := kindOfCurve{at: func(x float64) float64 { return math.Pow(1.1, x) }, looks: 1}
	for _, planned := range []float64{0, 100} {
		for _, tt := range []struct {
			kind kindOfCurve
			away bool
			want string
		}{{level, false, "levels off"}, {rising, true, "further from it"}} {
			c, err := Fit(tt.kind.record(50, 5), 0, Settings{PlannedEpochs: planned})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.Target(.25)
			if planned > 0 && !tt.away { // the rest of the plan may bring a change, with low probability
				if err != nil || a.Chance > .3 || !strings.Contains(strings.Join(a.Notes, "; "), tt.want) {
					t.Errorf("planned %g: %+v, %v, want at most 30 %% and a note that says %q", planned, a, err, tt.want)
				}
				continue
			}
			var never *NeverReachedError
			if !errors.As(err, &never) || never.Away != tt.away || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("planned %g: %v, want an error that says %q", planned, err, tt.want)
			}
		}
	}
}

// A fraction does not exceed 1; the model, without units, adds a note.
func TestTargetsAboveAFraction(t *testing.T) {
	c, err := Fit(kindsOfCurves()[4].record(20, 1), 0, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[float64]bool{.9: false, 1.1: true} {
		a, err := c.Target(target)
		said := strings.Contains(strings.Join(a.Notes, "; "), "out of reach")
		if err != nil || said != want {
			t.Errorf("target %g: %+v, %v", target, a, err)
		}
	}
}
