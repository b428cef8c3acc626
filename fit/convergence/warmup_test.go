package convergence

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// A warm-up of the learning rate is worth half its steps.
func TestWarmed(t *testing.T) {
	for _, tt := range []struct{ x, warmup, want float64 }{{6, 0, 6}, {5, 10, 1.25}, {10, 10, 5}, {30, 10, 25}} {
		if got := warmed(tt.x, tt.warmup); got != tt.want {
			t.Errorf("%g steps with a warm-up of %g are worth %g, want %g", tt.x, tt.warmup, got, tt.want)
		}
	}
}

// Warm-ups are at most a tenth of the run: the prior of one as long as the record depends on
// the planned length.
func TestWarmupsAreShort(t *testing.T) {
	chance := func(planned float64) (longest, all float64) {
		c := &Curve{LastX: 100, Planned: planned}
		_, chances := c.warmups()
		return chances[0], floats.Sum(chances)
	}
	short, _ := chance(200)
	unknown, all := chance(0)
	long, most := chance(2000)
	if !(short < unknown && unknown < long) {
		t.Errorf("a warm-up as long as the record has the probability %g if that is half the run, %g without a plan, %g if it is a twentieth", short, unknown, long)
	}
	if known := learned().Warmup; !(all < most && most < known) {
		t.Errorf("warm-ups within the record have the probability %g, with a long plan %g, of %g in all", all, most, known)
	}
}

// Targets that a power law after a linear warm-up reaches are not said to be out of reach,
// but more likely reached than not on average, and 90 % intervals hold when.
func TestWarmupIsNoFloor(t *testing.T) {
	const steps, recorded, at, runs = 200, 30, 120, 8
	for _, epochs := range []float64{0, steps} {
		var chance, asked, inside float64
		for _, warmup := range []float64{10, 20} {
			for seed := range uint64(runs) {
				rng := newTestRand(seed)
				between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
				floor, way, bend, scale := between(.5, 2.5), between(2, 5), between(.3, .8), between(1, 4)
				curve := func(x float64) float64 { return floor + way*math.Pow(1+warmed(x, warmup)/scale, -bend) }
				c, err := Fit(lossesOf(curve, recorded, .02, true, seed), 0, Settings{PlannedEpochs: epochs, Reach: Smooth})
				if err != nil {
					t.Fatal(err)
				}
				asked++
				a, err := c.Target(curve(at))
				if err != nil {
					t.Errorf("warm-up of %g of %d steps, seed %d: %v", warmup, steps, seed, err)
					continue
				}
				if chance += a.Chance; a.Steps.Lo <= at && at <= a.Steps.Hi {
					inside++
				}
			}
		}
		if chance < asked/2 || inside < .9*asked {
			t.Errorf("planned epochs %g: %g of %g truths inside, reached with probability %.2f on average", epochs, inside, asked, chance/asked)
		}
	}
}
