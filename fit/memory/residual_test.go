package memory

import (
	"encoding/json"
	"math"
	"testing"

	"knee/data"
)

// By hand: of a peak a fifth above the form, the run's own half is left out at its
// configuration; the rest fades by exp(−1) with a factor e in workers, or another word.
// Three quarters of the variance remain at the configuration.
func TestResidualByHand(t *testing.T) {
	at := func(workers int, recompute string) data.Config {
		c := config(workers, 1, data.Layout{Recompute: recompute})
		c.Architecture = gpt
		return c
	}
	m := Model{Architecture: gpt, Draws: [][]float64{make([]float64, coordinates)}}
	measured := pointOf(at(8, "full"), gpt)
	m.Peaks = []peak{{at(8, "full"), measured.lnReported(new(factorsOf(m.Draws[0]))) + math.Log(1.2)}}
	m.count()
	for _, c := range []struct {
		config data.Config
		follow float64
	}{
		{at(8, "full"), .5},
		{at(16, "full"), .5 / 2},
		{at(8, "selective"), .5 / math.E},
	} {
		p := m.point(c.config)
		lns, left := m.posterior(&p, p.ln)
		if got, want := lns[0]-p.ln(&m.factors[0]), c.follow*math.Log(1.2); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %g above the form, want %g", c.config, got, want)
		}
		if want := math.Sqrt(1 - c.follow*c.follow); math.Abs(left-want) > 1e-9 {
			t.Errorf("%v: %g of the standard deviation is left, want %g", c.config, left, want)
		}
	}
}

// Peaks by a rule that the form lacks, a third more where tp is pp: predictions of what
// was measured are nearer than the form's, and a file keeps them.
func TestFollowsPeaks(t *testing.T) {
	var x [coordinates]float64
	for i, p := range learned().of(gpt) {
		x[i] = p.Mean
	}
	var ms []data.Measurement
	for _, tp := range []int{1, 2, 4} {
		for _, pp := range []int{1, 2, 4} {
			c := config(16, 1, data.Layout{TP: tp, PP: pp})
			p := pointOf(c, gpt)
			peak := math.Exp(p.ln(new(factorsOf(x[:]))))
			if tp == pp {
				peak *= 4. / 3
			}
			ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: 1, PeakMemory: peak})
		}
	}
	m := Fit(ms, gpt, 1)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var read, form Model
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	form = read
	form.Peaks = nil
	form.count()
	errors := func(m *Model) (sum float64) {
		for _, r := range ms {
			sum += math.Abs(math.Log(m.Predict(r.Config).Peak.Mean / r.PeakMemory))
		}
		return sum
	}
	if got, without := errors(m), errors(&form); got > .75*without {
		t.Errorf("predictions of what was measured are off by %.2g in sum, those of the form by %.2g", got, without)
	}
	if got, want := read.Predict(ms[4].Config), m.Predict(ms[4].Config); got != want {
		t.Errorf("from a file %v, want %v", got, want)
	}
}
