package convergence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"knee/data"
)

// spikedRun returns a falling loss of so many steps with spikes of some height
// that decay within some steps, and its course.
func spikedRun(steps int, height, decay float64, seed uint64, starts ...float64) (points []data.CurvePoint, course func(x float64) float64) {
	course = func(x float64) float64 { return .5 + 2*math.Pow(1+x/20, -.7) }
	rng := rand.New(rand.NewPCG(seed, 7))
	for i := range steps {
		x := float64(i + 1)
		l := course(x)
		for _, s := range starts {
			if x >= s {
				l += height * math.Exp(-(x-s)/decay)
			}
		}
		points = append(points, curvePoint(x, l*math.Exp(.02*rng.NormFloat64())))
	}
	return points, course
}

// Spikes late in the record, of one to three percent of the run, change the
// answer little; a spike at the end leaves it in doubt.
func TestSpikesPass(t *testing.T) {
	for seed := range uint64(6) {
		decay := float64(3 + 3*(seed%3))
		calm, course := spikedRun(300, 0, decay, seed)
		spiked, _ := spikedRun(300, 1.5, decay, seed, 100, 250)
		ends, _ := spikedRun(300, 1.5, decay, seed, 298)
		target := course(450)
		answer := func(points []data.CurvePoint) (Answer, *Curve) {
			c, err := Fit(points, 0, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := c.Target(target)
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			return a, c
		}
		want, _ := answer(calm)
		a, c := answer(spiked)
		if c.Spikes != 2 || math.Abs(a.Chance-want.Chance) > .2 || a.Steps.Lo > 450 || a.Steps.Hi < 450 {
			t.Errorf("seed %d: %d spikes, %+v, without spikes %+v", seed, c.Spikes, a, want)
		}
		if a, c = answer(ends); len(c.Spike) != 1 || a.Chance < .35 || a.Chance > .7 {
			t.Errorf("seed %d: %d points at the end, %+v, without a spike %+v", seed, len(c.Spike), a, want)
		}
	}
}

// A loss that jumps and stays, or rises slowly, is no spike; nor are noise and
// cuts of the learning rate.
func TestOnlySpikesAreLeftOut(t *testing.T) {
	for name, change := range map[string]func(x, loss float64) float64{
		"noise":  func(_, l float64) float64 { return l },
		"cut":    func(x, l float64) float64 { return l * map[bool]float64{false: 1, true: .5}[x > 150] },
		"jump":   func(x, l float64) float64 { return l + 2*max(0, math.Copysign(1, x-240)) },
		"rising": func(x, l float64) float64 { return l + .02*max(0, x-240) },
	} {
		points, _ := spikedRun(300, 0, 1, 3)
		var record []Point
		for _, p := range points {
			record = append(record, Point{p.Progress, change(p.Progress, p.Loss)})
		}
		if course, open, passed := splitSpikes(record); !slices.Equal(course, record) || open != nil || passed > 0 {
			t.Errorf("%s: %d of %d points, %d at the end, %d spikes", name, len(course), len(record), len(open), passed)
		}
	}
}

func TestHampelKeepsNoiseAndDrops(t *testing.T) {
	in := []float64{10, 9, 8, 70, 6, 5.5, 5, 1, .9, .95, .9, .92}
	got := hampel(in)
	if got[3] == 70 || in[3] != 70 {
		t.Errorf("%v from %v", got, in)
	}
	got[3] = in[3]
	if !slices.Equal(got, in) {
		t.Errorf("more than the outlier changed: %v", got)
	}
}
