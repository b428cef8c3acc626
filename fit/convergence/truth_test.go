package convergence

import (
	"fmt"
	"math"
	"testing"

	"knee/data"
)

// fallsOf are curves from 1 down to 0 over the share u of a run.
var fallsOf = map[string]func(u float64) float64{
	"power":       func(u float64) float64 { return 1 / math.Sqrt(1+50*u) },
	"inverse":     func(u float64) float64 { return 1 / (1 + 30*u) },
	"exponential": func(u float64) float64 { return math.Exp(-4 * u) },
}

// lossesOf returns the losses of a curve with noise, over steps alone or with an
// epoch for each.
func lossesOf(curve func(step float64) float64, steps int, noise float64, epochs bool, seed uint64) (points []data.CurvePoint) {
	rng := newTestRand(seed)
	for i := range steps {
		p := curvePoint(math.NaN(), curve(float64(i+1))+noise*rng.NormFloat64())
		if p.Step = float64(i + 1); epochs {
			p.Epoch = p.Step
		}
		points = append(points, p)
	}
	return points
}

// Without a plan, 90 % intervals for targets that a curve of a known form meets
// near its end hold nine of ten truths, within the error of so many questions,
// from half or four fifths of the run, with and without noise.
func TestTargetsNearTheEnd(t *testing.T) {
	for _, noise := range []float64{0, .01, .05} {
		for _, seen := range []float64{.5, .8} {
			var asked, inside int
			for _, name := range []string{"power", "inverse", "exponential"} {
				for seed := range uint64(6) {
					n := []float64{50, 100, 400}[seed%3]
					curve := func(x float64) float64 { return .5 + 2*fallsOf[name](x/n) }
					c, err := Fit(lossesOf(curve, int(seen*n), noise, seed%2 == 0, seed), 0, Settings{})
					if err != nil {
						t.Fatal(err)
					}
					at := math.Round(n * (.85 + .02*float64(seed)))
					a, err := c.Target(curve(at))
					asked++
					if e := a.Steps; err == nil && e.Lo <= at+.5 && at-.5 <= e.Hi {
						inside++
					} else {
						t.Logf("%s, noise %g, %g of %g steps: %+v, %v, want %g", name, noise, seen*n, n, e, err, at)
					}
				}
			}
			if inside < asked*5/6 {
				t.Errorf("noise %g, %g seen: %d of %d truths inside", noise, seen, inside, asked)
			}
		}
	}
}

// A lucky value is not when a loss reaches a target, whether it comes with an
// epoch or not.
func TestLuckyValuesOfALoss(t *testing.T) {
	curve := func(x float64) float64 { return .5 + 2*math.Pow(1+x/10, -.7) }
	for _, epochs := range []bool{false, true} {
		inside, asked, early := 0, 0, 0
		for seed := range uint64(10) {
			c, err := Fit(lossesOf(curve, 100, .05, epochs, seed), 0, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []float64{20, 50, 90} {
				a, err := c.Target(curve(at))
				if err != nil {
					t.Fatal(err)
				}
				if asked++; a.Steps.Lo <= at && at <= a.Steps.Hi {
					inside++
				}
				if a.Steps.Mean < at {
					early++
				}
			}
		}
		if inside < asked*85/100 || early > asked*3/4 {
			t.Errorf("epochs %v: %d of %d truths inside, %d predicted too early", epochs, inside, asked, early)
		}
	}
}

// Records without noise tell their floor far better than by a percent of the
// range: a target above it is met when the curve does, one under it is not.
func TestFloorsWithoutNoise(t *testing.T) {
	for _, tt := range []struct{ floor, way, late, target float64 }{
		{20, 100, 0, 23}, {20, 100, 0, 21}, {6, 100, 0, 10}, {6, 100, 5, 9}, {20, 100, 3, 22.5},
	} {
		t.Run(fmt.Sprintf("%g + %g over steps + %g", tt.floor, tt.way, tt.late), func(t *testing.T) {
			at := math.Ceil(tt.way/(tt.target-tt.floor) - tt.late) // first step
			for _, share := range []float64{.5, .8} {
				for _, epochs := range []bool{false, true} {
					c, err := Fit(lossesOf(func(x float64) float64 { return tt.floor + tt.way/(x+tt.late) }, int(share*at), 0, epochs, 1), 0, Settings{})
					if err != nil {
						t.Fatal(err)
					}
					if a, err := c.Target(tt.target); err != nil || a.Steps.Lo > at || a.Steps.Hi < at || math.Abs(a.Steps.Mean/at-1) > .2 {
						t.Errorf("%g of the way, target %g: %+v, %v, want %g steps", share, tt.target, a, err, at)
					}
					if a, err := c.Target(tt.floor / 2); err == nil {
						t.Errorf("half the floor is met: %+v", a)
					}
				}
			}
		})
	}
}

// A target that the record met well before its end was met then, although later
// losses are far below it.
func TestTargetsBehindTheRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		losses []float64
		target float64
		at     float64 // step
	}{
		"cut":   {[]float64{1.31, .97, .79, .68, .60, .55, .35, .33, .31, .30}, .6, 5},
		"large": {[]float64{1.86, 1.55, 1.38, .89, .85}, 1.38, 3},
		"noise": {[]float64{2.13, 2.14, 2.08, 2.07, 1.55, 1.47, 1.73, 1.63, 1.75, 1.61, 1.41, 1.35, 1.76, 1.29, 1.21, 1.14, 1.27, 1.26, 1.18, 1.20}, 1.55, 11},
	} {
		c, err := Fit(lossesOf(func(x float64) float64 { return tt.losses[int(x)-1] }, len(tt.losses), 0, false, 1), 0, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Target(tt.target)
		if err != nil || a.Chance != 1 || a.Method != "recorded" || a.Steps.Lo > tt.at || a.Steps.Hi < tt.at || a.Steps.Hi > 2*tt.at {
			t.Errorf("%s: %+v, %v, want it recorded at about %g steps", name, a, err, tt.at)
		}
	}
}
