package quantile

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

func TestWeightedAgreesWithGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		v := rapid.SliceOfN(rapid.Float64Range(-9, 9), n, n).Draw(t, "values")
		p := rapid.Float64Range(.01, .99).Draw(t, "p")
		w := slices.Repeat([]float64{1}, n)
		want := stat.Quantile(p, stat.Empirical, slices.Sorted(slices.Values(v)), nil)
		if got := Weighted(v, w, p); got != want {
			t.Fatalf("got %g, want %g", got, want)
		}
	})
}

func TestSortedIsWithinAndMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-9, 9), 1, 20).Draw(t, "values")
		slices.Sort(v)
		last := math.Inf(-1)
		for p := 0.; p <= 1; p += .125 {
			q := Sorted(v, p)
			if q < v[0] || q > v[len(v)-1] || q < last-1e-12 {
				t.Fatalf("quantile %g of %v is %g after %g", p, v, q, last)
			}
			last = q
		}
	})
}

func TestNothingToSummarise(t *testing.T) {
	if !math.IsNaN(Sorted(nil, .5)) || !math.IsNaN(Weighted([]float64{1}, []float64{0}, .5)) {
		t.Error("want NaN")
	}
}

func ExampleMedian() {
	fmt.Println(Median([]float64{9, 1, 5, 3}))
	// Output: 4
}
