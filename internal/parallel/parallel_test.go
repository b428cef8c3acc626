package parallel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

func TestEachCallsAll(t *testing.T) {
	for _, n := range []int{0, 1, 7, 100} {
		seen := make([]atomic.Int64, n)
		if err := Each(n, 3, func() func(int) error {
			return func(i int) error { seen[i].Add(1); return nil }
		}); err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Errorf("n %d: %d was called %d times", n, i, seen[i].Load())
			}
		}
	}
}

func TestEachReturnsTheFirstError(t *testing.T) {
	want := errors.New("50")
	err := Each(1000, 4, func() func(int) error {
		return func(i int) error {
			switch {
			case i == 50:
				return want
			case i > 50 && i%7 == 0:
				return fmt.Errorf("%d", i)
			}
			return nil
		}
	})
	if err != want {
		t.Errorf("error %v, want that of 50", err)
	}
}
