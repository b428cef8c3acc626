package memory

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
)

// jobWith is a job of unknown size whose activations, and state if so, grow with a knob of
// its own.
type jobWith struct {
	base, sample, capacity float64 // bytes
	factor                 func(string) float64
	state                  bool
}

func (j jobWith) peak(batch float64, value string) float64 {
	return j.base + j.sample*batch*j.factor(value)
}

func (j jobWith) row(batch float64, value string) data.Measurement {
	c := config(1, batch, data.Layout{})
	c.Extra = map[string]string{"own": value}
	m := data.Measurement{Config: c, GPUMemory: j.capacity, Status: data.OOM}
	if p := j.peak(batch, value); p < .985*j.capacity {
		m.Status, m.StepTime, m.PeakMemory = data.OK, 1, p
	}
	return m
}

// Peaks at values of a knob say what it needs at others: intervals contain that,
// and what is called safe does not run out, though activations grow with the value
// in proportion, with its square, in between, not at all, or shrink. Without a
// second value nothing is sure. Values that were measured are called as peaks say.
func TestOwnKnobs(t *testing.T) {
	power := func(s float64) func(float64) float64 { return func(r float64) float64 { return math.Pow(r, s) } }
	numbers, words := []string{"512", "1024", "2048", "4096"}, []string{"none", "some", "all"}
	for name, by := range map[string]struct {
		factor          func(float64) float64 // of value/1024, or 1, 2, 3 for words
		measured, asked []string
		state           bool
	}{
		"half linear, half square": {func(r float64) float64 { return .6*r + .4*r*r }, numbers[:2], numbers[2:], false},
		"linear":                   {power(1), numbers[:2], numbers[2:], false},
		"square":                   {power(2), numbers[:2], numbers[2:], false},
		"without effect":           {power(0), numbers[:2], numbers[2:], false},
		"shrinking":                {power(-1), numbers[2:], numbers[:2], false},
		"one value":                {power(1), numbers[1:2], numbers[2:], false},
		"between":                  {power(1.5), []string{"512", "4096"}, numbers[1:3], false},
		"words":                    {func(r float64) float64 { return 1 + r/4 }, words[:2], words[2:], false},
		"all, linear":              {power(1), numbers[:2], numbers[2:], true},
		"words, all":               {func(r float64) float64 { return (1 + r) / 2 }, words[:2], words[1:], true},
	} {
		factors := map[string]float64{"none": by.factor(1), "some": by.factor(2), "all": by.factor(3)}
		for i, v := range numbers {
			factors[v] = by.factor(math.Pow(2, float64(i-1)))
		}
		inside, n, safe, wrong := 0, 0, 0, 0
		for seed := range uint64(16) {
			rng := rand.New(rand.NewPCG(seed, 3))
			j := jobWith{state: by.state, capacity: []float64{40 << 30, 80 << 30}[seed%2], factor: func(v string) float64 { return factors[v] }}
			j.base = (.05 + .35*rng.Float64()) * j.capacity
			j.sample = .002 * math.Pow(10, rng.Float64()) * j.capacity
			var ms []data.Measurement
			for _, batch := range []float64{4, 8, 16, 32} {
				for _, v := range by.measured {
					ms = append(ms, j.row(batch, v))
				}
			}
			m := Fit(ms, data.Architecture{}, 1)
			for _, batch := range []float64{24, 48, 96, 192} {
				for _, v := range by.asked {
					r := j.row(batch, v)
					p, truth := m.Predict(r.Config), j.peak(batch, v)
					if n++; p.Peak.Lo <= truth && truth <= p.Peak.Hi {
						inside++
					}
					if p.Fits > .9 {
						if safe++; truth > 1.1*j.capacity {
							wrong++
						}
					}
				}
			}
			for _, r := range ms {
				if p := m.Predict(r.Config).Fits; (r.Status == data.OK && r.PeakMemory < .8*j.capacity) && p < .9 || r.Status == data.OOM && p > .5 {
					t.Errorf("%s: batch %g, %s, measured as %s: fits with probability %.2f", name, r.LocalBatch, r.Extra["own"], r.Status, p)
				}
			}
		}
		t.Logf("%s: %d of %d inside, %d called safe, of which %d run out", name, inside, n, safe, wrong)
		if inside < n*80/100 || wrong > 0 {
			t.Errorf("%s: %d of %d peaks inside their 90 %% intervals; of %d called safe %d run out by more than a tenth", name, inside, n, safe, wrong)
		}
		if name == "without effect" && safe < n/2 {
			t.Errorf("%d of %d called safe, where the knob has no effect", safe, n)
		}
	}
}

// A knob that has no effect hardly changes what is said of its measured values. Without
// peaks, what ran and what ran out of memory is still called so.
func TestOwnKnobWithoutEffect(t *testing.T) {
	for _, values := range [][]string{{"true", "false"}, {"0.1", "0.01"}, {"sgd", "adam", "lion"}} {
		for _, peaks := range []bool{true, false} {
			j := jobWith{base: 10e9, sample: .4e9, capacity: 40 << 30, factor: func(string) float64 { return 1 }}
			var with, without []data.Measurement
			for i, batch := range []float64{4, 8, 16, 32, 64, 64, 96, 128} {
				r := j.row(batch, values[i%len(values)])
				if !peaks {
					r.PeakMemory = 0
				}
				with = append(with, r)
				r.Extra = nil
				without = append(without, r)
			}
			knows, before := Fit(with, gpt, 1), Fit(without, gpt, 1)
			for _, r := range with {
				if p := knows.Predict(r.Config).Fits; (p > .5) != (r.Status == data.OK) {
					t.Errorf("%v, peaks %t: fits with probability %.2f, measured: %s", r.Config, peaks, p, r.Status)
				}
				for _, v := range values {
					c := j.row(r.LocalBatch, v).Config
					got, want := knows.Predict(c).Fits, before.Predict(c).Fits
					if peaks && math.Abs(got-want) > .15 {
						t.Errorf("%v: fits with probability %.2f, without the knob %.2f", c, got, want)
					}
				}
			}
		}
	}
}
