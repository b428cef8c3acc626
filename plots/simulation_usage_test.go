package plots

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// However many changes there are, the mean that is drawn is that of the run.
func TestSlicesKeepTheMean(t *testing.T) {
	r := occupancySample(crowdPoints).Runs[1]
	begin, end := r.History[0].At, r.History[len(r.History)-1].At
	xs, ys := r.sliced(func(o Occupied) float64 { return o.GPUs }, begin, end)
	if len(xs) != mostSlices+1 {
		t.Fatalf("%d steps, want %d", len(xs), mostSlices+1)
	}
	var sum float64
	for i := range xs[1:] {
		sum += ys[i] * (xs[i+1] - xs[i])
	}
	if got, want := sum/xs[len(xs)-1]/r.GPUs, r.mean(); math.Abs(got-want) > 1e-9 {
		t.Errorf("what is drawn has a mean of %g, the run %g", got, want)
	}
}

// One job that takes for ever does not squeeze all others into a line.
func TestLongTailsAreCut(t *testing.T) {
	s := timelineSample()
	for i := range s.Runs {
		for k := range 400 {
			s.Runs[i].Stays = append(s.Runs[i].Stays, Stay{From: float64(k), To: float64(k) + 3600})
		}
		s.Runs[i].Stays = append(s.Runs[i].Stays, Stay{From: 0, To: 1e7})
	}
	c, err := NewTimeline(s)
	if err != nil {
		t.Fatal(err)
	}
	if c.Plot.X.Max > 10 || !strings.Contains(c.Subtitle, "to 2778 h, is not shown") {
		t.Errorf("the axis goes to %g h, the subtitle says %q", c.Plot.X.Max, c.Subtitle)
	}
	o := occupancySample(400)
	last := &o.Runs[0].History[len(o.Runs[0].History)-1]
	last.At = 1e7
	fig, err := NewOccupancy(o)
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

func TestSpotsOfRows(t *testing.T) {
	fig, err := NewOccupancy(occupancySample(90))
	if err != nil {
		t.Fatal(err)
	}
	w, h := fig.Size()
	spots := fig.Spots()
	for _, s := range spots {
		if s.X < 0 || s.X > w || s.Y < 0 || s.Y > h || !strings.Contains(s.Text, "of 64 GPUs in use") {
			t.Errorf("spot %+v", s)
		}
	}
	if len(spots) < 100 {
		t.Errorf("%d spots", len(spots))
	}
}
