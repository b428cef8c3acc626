// Package heap is a binary heap of values, without the boxing of
// container/heap.
package heap

// Heap is a binary heap whose least element, by Less, is first.
type Heap[T any] struct {
	Items []T
	Less  func(a, b T) bool
}

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	h.Items = append(h.Items, x)
	for at := len(h.Items) - 1; at > 0; {
		up := (at - 1) / 2
		if !h.Less(h.Items[at], h.Items[up]) {
			return
		}
		h.Items[up], h.Items[at] = h.Items[at], h.Items[up]
		at = up
	}
}

// Pop removes and returns the least element; the heap must have one.
func (h *Heap[T]) Pop() T {
	top, last := h.Items[0], len(h.Items)-1
	h.Items[0] = h.Items[last]
	h.Items = h.Items[:last]
	h.sink(0)
	return top
}

func (h *Heap[T]) sink(at int) {
	for {
		least := at
		for _, down := range [2]int{2*at + 1, 2*at + 2} {
			if down < len(h.Items) && h.Less(h.Items[down], h.Items[least]) {
				least = down
			}
		}
		if least == at {
			return
		}
		h.Items[least], h.Items[at] = h.Items[at], h.Items[least]
		at = least
	}
}

// Order makes a heap of items in any order.
func (h *Heap[T]) Order() {
	for at := len(h.Items)/2 - 1; at >= 0; at-- {
		h.sink(at)
	}
}
