package knapsack

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestChooseIsOptimal: no choice found by trying all is better.
func TestChooseIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 2).Draw(t, "limits")
		item := rapid.Custom(func(t *rapid.T) Item {
			return Item{
				Kind: rapid.IntRange(0, len(limits)-1).Draw(t, "kind"), Size: rapid.IntRange(1, 5).Draw(t, "size"),
				Value: float64(rapid.IntRange(-2, 20).Draw(t, "value")),
			}
		})
		groups := rapid.SliceOfN(rapid.SliceOfN(item, 0, 4), 0, 5).Draw(t, "groups")
		choice := Choose(groups, limits)
		var got float64
		left := append([]int(nil), limits...)
		for g, n := range choice {
			if n < 0 {
				continue
			}
			it := groups[g][n]
			got += it.Value
			if left[it.Kind] -= it.Size; left[it.Kind] < 0 {
				t.Fatalf("%v of %v uses too much of kind %d", choice, groups, it.Kind)
			}
		}
		if want := brute(groups, append([]int(nil), limits...)); math.Abs(got-want) > 1e-9 {
			t.Fatalf("value %g, the best is %g: %v of %v within %v", got, want, choice, groups, limits)
		}
	})
}

func brute(groups [][]Item, left []int) float64 {
	if len(groups) == 0 {
		return 0
	}
	best := brute(groups[1:], left)
	for _, it := range groups[0] {
		if left[it.Kind] >= it.Size {
			left[it.Kind] -= it.Size
			best = math.Max(best, it.Value+brute(groups[1:], left))
			left[it.Kind] += it.Size
		}
	}
	return best
}
