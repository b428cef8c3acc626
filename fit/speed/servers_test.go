package speed

import (
	"math"
	"testing"

	"knee/data"
)

// A worker's step takes 100 ms, 10 of them on the server, so that an update takes no less
// than 10 ms from ten workers on. Rows of up to four workers show nothing of it, and leave
// it open; rows of up to sixteen show it.
func TestServersMaySaturate(t *testing.T) {
	at := func(workers int) data.Config {
		return data.Config{Job: "j", GPUType: "v100", Mode: data.PSAsync, Workers: workers, PS: 1, LocalBatch: 32}
	}
	linear := func(workers int) float64 { return .1 / float64(workers) }
	truth := func(workers int) float64 { return math.Max(linear(workers), .01) }
	for _, c := range []struct {
		most, asked int
		open        bool
	}{{4, 16, true}, {16, 64, false}} {
		var ms []data.Measurement
		for k := 1; k <= c.most; k *= 2 {
			ms = append(ms, data.Measurement{Config: at(k), StepTime: truth(k), Status: data.OK})
		}
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(at(c.asked))
		if err != nil {
			t.Fatal(err)
		}
		if e := p.StepTime; e.Hi < truth(c.asked) || e.Lo > truth(c.asked) || c.open != (e.Lo < linear(c.asked)) {
			t.Errorf("%d workers, from up to %d: %v s, want %g inside, and %g inside: %v", c.asked, c.most, e, truth(c.asked), linear(c.asked), c.open)
		}
	}
}
