package speed_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// question is what is measured of a made-up job, in sizes relative to its
// fewest workers and in batches relative to its own, and what is asked.
type question struct {
	workers []int
	batches []float64
	placed  bool
	noise   float64 // sd of ln step time of a run, 0 for that of the cluster
	second  bool    // one row of a second GPU type, which the question is of
	times   int
	batch   float64
}

// Whatever is measured of clusters whose physics is not that of the form, and
// whatever is asked, intervals hold nine in ten truths (at least eight, of sixty),
// and the predictions are no further off on average than linear scaling.
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

// draw makes up a job, and returns what is measured of it, what is asked, and
// the answer in seconds.
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
