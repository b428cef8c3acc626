package grouped

import (
	"slices"
	"testing"
)

func TestByKeepsTheOrder(t *testing.T) {
	keys, groups := By([]string{"pear", "fig", "plum", "kiwi", "nut"}, func(s string) int { return len(s) })
	if !slices.Equal(keys, []int{4, 3}) || !slices.Equal(groups[4], []string{"pear", "plum", "kiwi"}) || !slices.Equal(groups[3], []string{"fig", "nut"}) {
		t.Errorf("keys %v, groups %v", keys, groups)
	}
	if keys, groups := By(nil, func(s string) int { return len(s) }); len(keys)+len(groups) != 0 {
		t.Errorf("of nothing: %v, %v", keys, groups)
	}
}
