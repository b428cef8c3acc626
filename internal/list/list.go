// Package list has what package slices lacks: a slice of what is known of the elements of
// another, their sum, and how many are of a kind.
package list

// Map returns f of every element, in order; nil if there are none.
func Map[T, U any](in []T, f func(T) U) []U {
	if len(in) == 0 {
		return nil
	}
	out := make([]U, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// Sum adds up of for every element, in order.
func Sum[T any, N int | int64 | float64](in []T, of func(T) N) (sum N) {
	for _, x := range in {
		sum += of(x)
	}
	return sum
}

// Count returns how many elements are of a kind.
func Count[T any](in []T, is func(T) bool) (n int) {
	for _, x := range in {
		if is(x) {
			n++
		}
	}
	return n
}
