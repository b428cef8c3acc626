package speed_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/speed"
)

// A word that was never measured has one effect in a draw, whatever the workers; another
// word has its own. So has a tensor-parallel degree. The variance in all stays as predicted.
func TestDrawsShareUnmeasuredEffects(t *testing.T) {
	at := func(workers int, word string, tp int) data.Config {
		c := data.Config{Job: "job", GPUType: "a100", Workers: workers, LocalBatch: 8, Layout: data.Layout{TP: tp}}
		if word != "" {
			c.Extra = map[string]string{"prec": word}
		}
		return c
	}
	for _, c := range []struct {
		name                string
		known, asked, other func(workers int) data.Config
	}{
		{"word", func(n int) data.Config { return at(n, "fp32", 0) }, func(n int) data.Config { return at(n, "bf16", 0) }, func(n int) data.Config { return at(n, "fp8", 0) }},
		{"layout", func(n int) data.Config { return at(n, "", 2) }, func(n int) data.Config { return at(n, "", 4) }, func(n int) data.Config { return at(n, "", 1) }},
	} {
		var ms []data.Measurement
		for i, n := range []int{2, 4, 8, 16} {
			for j, b := range []float64{4, 8} {
				m := data.Measurement{Config: c.known(n), Status: data.OK, StepTime: (.1 + .02*b) * (1 + .05*float64(i)) * (1 + .01*float64((i+j)%3))}
				m.LocalBatch = b
				ms = append(ms, m)
			}
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		cs := []data.Config{c.asked(4), c.asked(16), c.other(16), c.known(4)}
		ln, process, run, err := m.Draws(cs)
		if err != nil {
			t.Fatal(err)
		}
		all, err := m.PredictAll(cs)
		if err != nil {
			t.Fatal(err)
		}
		same, other := stat.Correlation(ln[0], ln[1], nil), stat.Correlation(ln[1], ln[2], nil)
		if same < .8 || other > same-.2 {
			t.Errorf("%s: draws of the same value correlate by %.2f, of two by %.2f; want nearly 1, and less", c.name, same, other)
		}
		for i := range cs {
			sd := math.Sqrt(stat.Variance(ln[i], nil) + process[i] + run[i])
			if want := math.Log(all[i].StepTime.Hi/all[i].StepTime.Lo) / (2 * 1.645); math.Abs(sd/want-1) > .2 {
				t.Errorf("%s: ln step time of %s has standard deviation %.3f in draws, %.3f predicted", c.name, cs[i], sd, want)
			}
		}
	}
}
