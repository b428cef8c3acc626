package term

import (
	"slices"
	"testing"
)

func TestHanging(t *testing.T) {
	for in, want := range map[string]string{
		"short":                              "short",
		"warning: a b c d e f g h i j":       "warning: a b c d e\n  f g h i j",
		"- one two three four five six":      "- one two three four\n  five six",
		"  check   predicted, then measured": "  check   predicted,\n          then\n          measured",
		"first\n\nlast":                      "first\n\nlast",
	} {
		if got := hangingAt(in, 20); got != want {
			t.Errorf("%q becomes\n%s\nwant\n%s", in, got, want)
		}
	}
}

func TestBesideTheBar(t *testing.T) {
	const text = "$0.00, 16 × a100, allreduce, batch 128"
	for width, want := range map[int]string{100: text, 60: "$0.00, 16 × a100,", 40: "$0.00,", 21: "$0.00,"} {
		if got := beside(text, width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// A Chinese letter takes two columns.
func TestWrapCountsColumns(t *testing.T) {
	for in, want := range map[string][]string{
		"训练任务 次":    {"训练", "任务", "次"},
		"abcdefg h": {"abcd", "efg", "h"},
	} {
		if got := wrap(in, 4); !slices.Equal(got, want) {
			t.Errorf("%q in 4 columns becomes %q, want %q", in, got, want)
		}
	}
}
