package convergence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"knee/data"
)

// Runs that differ by noise are one curve; of others those like the lowest are kept.
func TestAgreeing(t *testing.T) {
	run := func(name string, floor, rate, noise float64, steps int, rng *rand.Rand) (out []data.CurvePoint) {
		for i := 1; i <= steps; i++ {
			l := floor + 2*math.Exp(-rate*float64(i)/50)
			out = append(out, data.CurvePoint{Run: name, Step: float64(i), Progress: math.NaN(), Loss: l * math.Exp(noise*rng.NormFloat64())})
		}
		return out
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var points []data.CurvePoint
		for i, steps := range []int{100, 60, 30, 1} { // trials end at different steps
			points = append(points, run(fmt.Sprint(i), .5, 1, .05, steps, rng)...)
		}
		if kept, others := Agreeing(points, 0); len(others) > 0 || len(kept) != len(points) {
			t.Fatalf("seed %d: %q differ by noise", seed, others)
		}
		points = append(points, run("slow", .5, .2, .05, 100, rng)...)
		points = append(points, run("diverges", 5, 0, .05, 100, rng)...)
		kept, others := Agreeing(points, 0)
		if want := []string{"slow", "diverges"}; len(others) != 2 || !slices.Contains(others, want[0]) || !slices.Contains(others, want[1]) || len(kept) != 191 {
			t.Errorf("seed %d: %d points kept, %q differ, want %q", seed, len(kept), others, want)
		}
	}
	for _, points := range [][]data.CurvePoint{nil, {{Step: 1, Loss: 2}}, {{Run: "a", Step: 1, Loss: 2}, {Run: "b", Step: 1, Loss: 9}}} {
		if kept, others := Agreeing(points, 0); len(kept) != len(points) || others != nil {
			t.Errorf("%+v: kept %+v, others %q", points, kept, others)
		}
	}
}
