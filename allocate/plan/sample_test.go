package plan

import (
	"math"
	"testing"

	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// TestSampleKeepsTheEnvelope: of a concave speed-up, the sizes that are
// predicted are at every price of a GPU worth what all sizes are, up to bulge
// of the speed, and they are few.
func TestSampleKeepsTheEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power, fixed := rapid.Float64Range(0.2, 1).Draw(t, "power"), rapid.Float64Range(0, 4).Draw(t, "fixed")
		speed := func(n int) float64 { return math.Pow(float64(n), power) / (1 + fixed/float64(n)) }
		concave := true
		x := &table{answers: make([]predict.Answer, 64)}
		for n := 1; n <= 64; n++ {
			x.shapes = append(x.shapes, data.Config{Workers: n})
			concave = concave && (n < 3 || speed(n)-speed(n-1) <= speed(n-1)-speed(n-2))
		}
		if !concave {
			return
		}
		asked := 0
		x.sample(func(n int) {
			asked++
			x.answers[n].Goodput = data.Estimate{Mean: speed(n + 1)}
		})
		if asked > 30 {
			t.Fatalf("%d of 64 sizes predicted", asked)
		}
		price := rapid.Float64Range(0, 1).Draw(t, "price")
		all, some := math.Inf(-1), math.Inf(-1)
		for n := range x.shapes {
			cost := price * float64(n+1)
			all = math.Max(all, speed(n+1)-cost)
			if g := x.answers[n].Goodput.Mean; g > 0 {
				some = math.Max(some, g-cost)
			}
		}
		if all-some > bulge*speed(64) {
			t.Fatalf("worth %g at price %g, with all sizes %g", some, price, all)
		}
	})
}
