package plots

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTerminal(t *testing.T) {
	var b strings.Builder
	err := Terminal(&b, "throughput (samples/s)", []Bar{
		{Label: "1 worker", Mean: 100}, {Label: "2 workers", Mean: 190, Lo: 180, Hi: 200, Note: "knee"}, {Label: "16 workers", Mean: 400, Lo: 300, Hi: 600},
	}, 60)
	if err != nil {
		t.Fatal(err)
	}
	want := `throughput (samples/s)
  1 worker ▕████▉                         100
 2 workers ▕████████▊░                    190 (180–200) knee
16 workers ▕██████████████▌░░░░░░░░░░░░░░ 400 (300–600)
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

func TestTerminalRefusesWhatCannotBeDrawn(t *testing.T) {
	var b strings.Builder
	nan := 0.0
	nan /= nan
	if err := Terminal(&b, "x", []Bar{{Label: "a", Mean: nan}}, 0); err == nil {
		t.Error("NaN was drawn")
	}
	if err := Terminal(&b, "x", []Bar{{Label: "a"}}, 0); err != nil {
		t.Errorf("a bar of zero: %v", err)
	}
}
