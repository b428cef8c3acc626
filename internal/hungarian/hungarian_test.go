package hungarian

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSolveIsOptimal: no assignment found by trying all is cheaper.
func TestSolveIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		cols := rapid.IntRange(rows, 6).Draw(t, "columns")
		cost := make([][]float64, rows)
		for i := range cost {
			cost[i] = rapid.SliceOfN(rapid.Float64Range(-10, 10), cols, cols).Draw(t, "row")
		}
		match := Solve(cost)
		used, got := map[int]bool{}, 0.0
		for r, c := range match {
			if used[c] {
				t.Fatalf("%v gives column %d twice", match, c)
			}
			used[c] = true
			got += cost[r][c]
		}
		if want := brute(cost, make([]bool, cols)); math.Abs(got-want) > 1e-9 {
			t.Fatalf("cost %g, the least is %g", got, want)
		}
	})
}

func brute(cost [][]float64, used []bool) float64 {
	if len(cost) == 0 {
		return 0
	}
	best := math.Inf(1)
	for c := range used {
		if !used[c] {
			used[c] = true
			best = math.Min(best, cost[0][c]+brute(cost[1:], used))
			used[c] = false
		}
	}
	return best
}
