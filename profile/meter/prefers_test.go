package meter

import (
	"testing"

	"knee/profile/launch"
)

// The wanted rank is kept once it reports; else the lowest, and a known rank
// before an unknown one.
func TestPrefers(t *testing.T) {
	for _, c := range []struct {
		ranks
		rank int
		want bool
	}{
		{ranks{want: 1}, 3, true},
		{ranks{heard: true, current: 1, want: 1}, 0, false},
		{ranks{heard: true, current: 0, want: 1}, 1, true},
		{ranks{heard: true, current: 2, want: 9}, 0, true},
		{ranks{heard: true, current: 2, want: 9}, 3, false},
		{ranks{heard: true, current: 2, want: 9}, 2, false},
		{ranks{heard: true, current: launch.UnknownRank, want: 9}, 5, true},
		{ranks{heard: true, current: 2, want: 9}, launch.UnknownRank, false},
	} {
		if got := c.prefers(c.rank); got != c.want {
			t.Errorf("rank %d beside %d, wanted %d: %v, want %v", c.rank, c.current, c.ranks.want, got, c.want)
		}
	}
}
