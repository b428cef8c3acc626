package list

import (
	"slices"
	"strconv"
	"testing"
)

func TestMap(t *testing.T) {
	if got := Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("Map = %q", got)
	}
	if got := Map(nil, strconv.Itoa); got != nil {
		t.Errorf("Map of nothing = %q, want nil", got)
	}
}

func TestSum(t *testing.T) {
	if got := Sum([]string{"a", "bc"}, func(s string) int { return len(s) }); got != 3 {
		t.Errorf("Sum = %d, want 3", got)
	}
}

func TestCount(t *testing.T) {
	if got := Count([]int{1, -2, 3}, func(x int) bool { return x > 0 }); got != 2 {
		t.Errorf("Count = %d, want 2", got)
	}
}
