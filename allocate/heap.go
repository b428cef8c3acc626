package allocate

// heapOf is a binary heap whose least element, by less, is first. Package
// container/heap would box every element it holds, and these heaps are what
// allocation and placement spend their time on.
type heapOf[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (h *heapOf[T]) push(x T) {
	h.items = append(h.items, x)
	for at := len(h.items) - 1; at > 0; {
		up := (at - 1) / 2
		if !h.less(h.items[at], h.items[up]) {
			return
		}
		h.items[up], h.items[at] = h.items[at], h.items[up]
		at = up
	}
}

// pop removes and returns the least element; the heap must have one.
func (h *heapOf[T]) pop() T {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.sink(0)
	return top
}

func (h *heapOf[T]) sink(at int) {
	for {
		least := at
		for _, down := range [2]int{2*at + 1, 2*at + 2} {
			if down < len(h.items) && h.less(h.items[down], h.items[least]) {
				least = down
			}
		}
		if least == at {
			return
		}
		h.items[least], h.items[at] = h.items[at], h.items[least]
		at = least
	}
}

// order makes a heap of items in any order.
func (h *heapOf[T]) order() {
	for at := len(h.items)/2 - 1; at >= 0; at-- {
		h.sink(at)
	}
}
