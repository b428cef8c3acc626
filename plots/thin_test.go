package plots

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// Ends, lowest and highest point of a line survive thinning, in order.
func TestThinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6*thinSlices).Draw(t, "points")
		xs, ys := make([]float64, n), make([]float64, n)
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range xs {
			seed = seed*6364136223846793005 + 1442695040888963407
			xs[i], ys[i] = float64(i), float64(seed>>40)
		}
		tx, ty := thinned(xs, ys)
		if len(tx) != len(ty) || len(tx) > 4*thinSlices || n <= 4*thinSlices && len(tx) != n {
			t.Fatalf("%d points of %d", len(tx), n)
		}
		if !slices.IsSorted(tx) || tx[0] != 0 || tx[len(tx)-1] != float64(n-1) || slices.Max(ty) != slices.Max(ys) || slices.Min(ty) != slices.Min(ys) {
			t.Fatalf("from %g to %g, between %g and %g", tx[0], tx[len(tx)-1], slices.Min(ty), slices.Max(ty))
		}
	})
}

// A search of very many trials is a file that can be opened, and says that not
// every trial is drawn.
func TestManyTrialsAreThinned(t *testing.T) {
	var trials []data.Measurement
	for i := range 20_000 {
		trials = append(trials, data.Measurement{StepTime: 1 / (100 + float64(i*7919%20011)/20011), Status: data.OK})
	}
	c, err := NewSearch("many", trials)
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := Render(&svg, "svg", c); err != nil {
		t.Fatal(err)
	}
	if svg.Len() > 600_000 || !strings.Contains(svg.String(), "trial, 1 of 10 drawn") {
		t.Errorf("%d bytes, legend %v", svg.Len(), c.legend)
	}
}
