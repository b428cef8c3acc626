package plan

import (
	"math"
	"testing"

	"knee/data"

	"pgregory.net/rapid"
)

// TestCoarseSizesKeepTheEnvelope: of a concave speed-up, the coarse sizes are at
// every price of a GPU worth what all sizes are, up to a hundredth of the speed,
// and they are few.
func TestCoarseSizesKeepTheEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power, fixed := rapid.Float64Range(0.2, 1).Draw(t, "power"), rapid.Float64Range(0, 4).Draw(t, "fixed")
		speed := func(n int) float64 { return math.Pow(float64(n), power) / (1 + fixed/float64(n)) }
		concave := true
		x := &table{}
		for n := 1; n <= 64; n++ {
			x.shapes = append(x.shapes, data.Config{Workers: n})
			concave = concave && (n < 3 || speed(n)-speed(n-1) <= speed(n-1)-speed(n-2))
		}
		if !concave {
			return
		}
		price, few := rapid.Float64Range(0, 1).Draw(t, "price"), 0
		all, some := math.Inf(-1), math.Inf(-1)
		for i, coarse := range x.coarse() {
			worth := speed(i+1) - price*float64(i+1)
			all = math.Max(all, worth)
			if coarse {
				few, some = few+1, math.Max(some, worth)
			}
		}
		if few > 12 || all-some > 0.01*speed(64) {
			t.Fatalf("%d of 64 sizes are worth %g at price %g, all %g", few, some, price, all)
		}
	})
}
