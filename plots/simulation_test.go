package plots

import (
	"bytes"
	"strings"
	"testing"
)

// One job that takes for ever does not squeeze all others into a line.
func TestLongTailsAreCut(t *testing.T) {
	runs := occupancySample(400)
	runs[0].History[len(runs[0].History)-1].At = 1e7
	fig, err := NewOccupancy("", runs)
	if err != nil {
		t.Fatal(err)
	}
	if queue := fig.Charts[len(fig.Charts)-1]; queue.Plot.X.Max > 20 || !strings.Contains(fig.Subtitle, "is not shown") {
		t.Errorf("the axis goes to %g h, the subtitle says %q", queue.Plot.X.Max, fig.Subtitle)
	}
	var svg bytes.Buffer
	if err := Render(&svg, "svg", fig); err != nil {
		t.Fatal(err)
	}
}
