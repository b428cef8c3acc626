package term

import "testing"

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
