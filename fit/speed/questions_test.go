package speed_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/fit/speed"
	"knee/fit/speed/form"
)

// question is the measurements of a simulated job and a prediction asked for;
// sizes are relative to its fewest workers, batches to its own.
type question struct {
	workers []int
	batches []float64
	placed  bool
	noise   float64 // sd of ln step time of a run, 0: that of the cluster
	second  bool    // the prediction is for a second GPU type, with one row
	times   int
	batch   float64
}

// On clusters with other physics than the form, intervals contain nine in ten
// truths (at least eight, of sixty), and the mean error is at most that of
// linear scaling.
func TestQuestionsOfStrangers(t *testing.T) {
	for name, q := range map[string]question{
		"one row":                     {[]int{1}, []float64{1}, true, 0, false, 4, 1},
		"a larger batch":              {[]int{1, 2, 4}, []float64{1}, true, 0, false, 4, 2},
		"a smaller batch":             {[]int{1, 2, 4}, []float64{1}, true, 0, false, 4, .25},
		"four times the workers":      {[]int{1, 2, 4}, []float64{1}, true, 0, false, 16, 1},
		"unknown nodes":               {[]int{1, 2, 4}, []float64{1}, false, 0, false, 16, 1},
		"512 times the workers":       {[]int{1, 2, 4}, []float64{1}, true, 0, false, 2048, 1},
		"a second GPU type":           {[]int{1, 2, 4, 8}, []float64{1}, true, 0, true, 8, 1},
		"several sizes and batches":   {[]int{1, 2, 4}, []float64{.5, 1, 2}, true, 0, false, 16, 1},
		"noise of a fifth, two times": {[]int{1, 1, 2, 2, 4, 4}, []float64{1}, true, .2, false, 8, 1},
	} {
		const jobs = 60
		r := rand.New(rand.NewPCG(5, 7))
		var inside, ours, linear float64
		for range jobs {
			ms, at, truth := q.draw(r)
			m, err := speed.Fit(context.Background(), ms, speed.Settings{})
			if err != nil {
				t.Fatal(name, err)
			}
			p, err := m.Predict(at)
			if err != nil {
				t.Fatal(name, err)
			}
			if p.StepTime.Lo <= truth && truth <= p.StepTime.Hi {
				inside++
			}
			last := ms[len(ms)-1]
			ours += math.Abs(p.StepTime.Mean/truth-1) / jobs
			linear += math.Abs(last.StepTime/last.LocalBatch*at.LocalBatch/truth-1) / jobs
		}
		if inside < .8*jobs || ours > linear+.1 {
			t.Errorf("%s: %.0f of %d inside, mean error %.1f %%, of linear scaling %.1f %%", name, inside, jobs, 100*ours, 100*linear)
		}
	}
}

// draw simulates a job and returns its measurements, the configuration asked
// for, and its time in seconds.
func (q question) draw(r *rand.Rand) (ms []data.Measurement, at data.Config, truth float64) {
	c := drawCluster(r)
	noise := c.noise
	if c.noise = 0; q.noise > 0 {
		noise = q.noise
	}
	config := func(times int, batch float64) data.Config {
		out := data.Config{Job: "job", GPUType: "a100", Workers: c.start * times, LocalBatch: c.batch / 8 * batch}
		if q.placed {
			out.Nodes = (out.Workers + gpusPerNode - 1) / gpusPerNode
		}
		return out
	}
	measure := func(at data.Config, faster float64) {
		step := faster * c.step(at.Workers, at.LocalBatch, r) * math.Exp(noise*r.NormFloat64())
		ms = append(ms, data.Measurement{Config: at, StepTime: step, Status: data.OK})
	}
	for _, k := range q.workers {
		for _, b := range q.batches {
			measure(config(k, b), 1)
		}
	}
	at = config(q.times, q.batch)
	faster := 1.
	if q.second {
		faster = .3 + .5*r.Float64()
		lone := config(1, 1)
		lone.GPUType, at.GPUType = "h100", "h100"
		measure(lone, faster)
	}
	return ms, at, faster * c.step(at.Workers, at.LocalBatch, r)
}

// Many measurements of up to 32 workers say little about a network that is
// slower or faster beyond them: most intervals hold.
func TestTiersBeyondTheMeasuredWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var truths coverage
	for range 20 {
		truth := form.Collective{Fixed: .02, PerBatch: .1, RefBatch: 32, Intra: .02, Inter: .1 * math.Exp(rng.NormFloat64()), Tree: 1, Power: .1, IntraPower: .1, Overlap: 1.5}
		at := func(workers int, batch float64) data.Measurement {
			c := data.Config{Job: "j", GPUType: "a100", Workers: workers, Nodes: (workers + 7) / 8, LocalBatch: batch}
			return data.Measurement{Config: c, StepTime: truth.StepTime(c) * math.Exp(.01*rng.NormFloat64()), Status: data.OK}
		}
		var ms []data.Measurement
		for _, k := range []int{1, 2, 4, 8, 16, 24, 32} {
			for _, b := range []float64{16, 32, 64} {
				ms = append(ms, at(k, b))
			}
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{64, 128} {
			truth.Inter *= math.Exp(.2 * rng.NormFloat64()) // a random walk, for a factor of two each
			want := at(k, 32)
			truths.ask(t, m, want)
		}
	}
	truths.wantFourInFive(t)
}

// Collectives of GPUs on PCIe may slow down by far more than a ring's when further GPUs of
// the node take part: one and two GPUs do not exclude it.
func TestPCIeBeyondTheMeasuredGPUs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var truths coverage
	for range 20 {
		truth := form.Collective{Fixed: .02, PerBatch: .1, RefBatch: 32, Intra: .02 * math.Exp(rng.NormFloat64()), Inter: .1, Tree: 1, Power: .1, IntraPower: 1.5 * rng.Float64(), Overlap: 1.5}
		at := func(workers int) data.Measurement {
			c := data.Config{Job: "j", GPUType: "l40s", Workers: workers, Nodes: 1, LocalBatch: 32}
			return data.Measurement{Config: c, StepTime: truth.StepTime(c) * math.Exp(.01*rng.NormFloat64()), Status: data.OK}
		}
		m, err := speed.Fit(context.Background(), []data.Measurement{at(1), at(2)}, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{4, 8} {
			want := at(k)
			truths.ask(t, m, want)
		}
	}
	truths.wantFourInFive(t)
}

// coverage counts the truths that were asked for, and those inside their intervals.
type coverage struct{ asked, inside float64 }

func (c *coverage) ask(t *testing.T, m *speed.Model, truth data.Measurement) {
	t.Helper()
	p, err := m.Predict(truth.Config)
	if err != nil {
		t.Fatal(err)
	}
	if c.asked++; p.StepTime.Lo <= truth.StepTime && truth.StepTime <= p.StepTime.Hi {
		c.inside++
	}
}

func (c *coverage) wantFourInFive(t *testing.T) {
	t.Helper()
	if t.Logf("%.0f of %.0f inside", c.inside, c.asked); c.inside < .8*c.asked {
		t.Errorf("%.0f of %.0f truths are inside, want four in five", c.inside, c.asked)
	}
}
