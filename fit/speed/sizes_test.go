package speed

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Few measurements leave the noise nearly as unknown as the prior does; many
// determine it.
func TestNoiseIsKnownFromManyRows(t *testing.T) {
	spread := func(rows int) float64 {
		m, err := fitAll(synthetic(rows), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		var ln []float64
		post := m.groups[0].post
		for _, at := range post.from {
			ln = append(ln, math.Log(post.nodes[post.nodeOf(at)].noise))
		}
		return stat.StdDev(ln, nil)
	}
	few, many := spread(2), spread(500)
	if prior := 1.; few < prior/2 || few > 2*prior {
		t.Errorf("two rows: ln noise has a standard deviation of %.2f, want about %.2f", few, prior)
	}
	if many > few/2 {
		t.Errorf("500 rows: ln noise has a standard deviation of %.2f, with two %.2f", many, few)
	}
}
