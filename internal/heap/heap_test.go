package heap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Elements come out in order, whether they were pushed or ordered at once.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		less := func(a, b int) bool { return a < b }
		first := rapid.SliceOf(rapid.Int()).Draw(t, "ordered")
		more := rapid.SliceOf(rapid.Int()).Draw(t, "pushed")
		h := Heap[int]{Items: slices.Clone(first), Less: less}
		h.Order()
		for _, v := range more {
			h.Push(v)
		}
		want := slices.Sorted(slices.Values(slices.Concat(first, more)))
		for _, w := range want {
			if got := h.Pop(); got != w {
				t.Fatalf("popped %d, want %d", got, w)
			}
		}
	})
}
