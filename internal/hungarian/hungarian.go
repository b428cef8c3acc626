// Package hungarian solves the assignment problem: every row gets a different
// column so that the sum of costs is smallest.
package hungarian

import "math"

// Solve returns the column of every row. There must be at least as many columns
// as rows, all rows must have the same length, and costs must be finite. The time
// is O(rows² × columns) (Kuhn 1955, as shortest augmenting paths, Jonker and
// Volgenant 1987).
func Solve(cost [][]float64) []int {
	rows := len(cost)
	if rows == 0 {
		return nil
	}
	cols := len(cost[0])
	u, v := make([]float64, rows+1), make([]float64, cols+1)
	owner := make([]int, cols+1) // row + 1 of every column, 0 for none; column 0 is where paths begin
	back := make([]int, cols+1)
	least, done := make([]float64, cols+1), make([]bool, cols+1)
	for r := 1; r <= rows; r++ {
		owner[0] = r
		for c := range least {
			least[c], done[c] = math.Inf(1), false
		}
		at := 0
		for {
			done[at] = true
			row, delta, next := owner[at], math.Inf(1), 0
			for c := 1; c <= cols; c++ {
				if done[c] {
					continue
				}
				if d := cost[row-1][c-1] - u[row] - v[c]; d < least[c] {
					least[c], back[c] = d, at
				}
				if least[c] < delta {
					delta, next = least[c], c
				}
			}
			for c := range done {
				if done[c] {
					u[owner[c]] += delta
					v[c] -= delta
				} else {
					least[c] -= delta
				}
			}
			if at = next; owner[at] == 0 {
				break
			}
		}
		for at != 0 {
			owner[at] = owner[back[at]]
			at = back[at]
		}
	}
	out := make([]int, rows)
	for c := 1; c <= cols; c++ {
		if owner[c] > 0 {
			out[owner[c]-1] = c - 1
		}
	}
	return out
}
