package predict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/fit"
)

// peaked is a model of 2 GiB and 0.75 GB a sample: 8 to 32 ran, 256 did not.
func peaked(t *testing.T, more string) *Predictor {
	t.Helper()
	ms, _, err := data.ReadMeasurements(strings.NewReader(`job,gpu_type,workers,nodes,local_batch,step_time_s,peak_memory_bytes,status
a,a100-80gb,8,1,8,.1,8 GB,ok
a,a100-80gb,8,1,16,.2,14 GB,ok
a,a100-80gb,8,1,32,.4,26 GB,ok
a,a100-80gb,8,1,256,,,oom
`+more), "m.csv")
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &Predictor{Model: m}
}

// TestUnfit: a batch that ran out of memory is said not to fit, with the figures.
func TestUnfit(t *testing.T) {
	p := peaked(t, "")
	for batch, want := range map[float64]bool{32: true, 64: true, 128: false, 256: false} {
		a, err := p.At(data.Config{Workers: 8, LocalBatch: batch})
		if err != nil {
			t.Fatal(err)
		}
		if why := a.Unfit(); (why == "") != want || !want && !strings.Contains(why, "a100-80gb has 80") {
			t.Errorf("batch %g: %q, P(fits) %g; fits: %t", batch, why, *a.Fits(), want)
		}
	}
}

// TestAccumulated: a batch that ran out of memory is split into the fewest equal
// micro-steps that fit; one that cannot be split so stays as it is.
func TestAccumulated(t *testing.T) {
	p := peaked(t, "")
	for _, x := range []struct{ batch, local, steps float64 }{{32, 32, 0}, {256, 64, 3}, {258, 86, 2}, {257, 1, 256}, {192.5, 48.125, 3}} {
		c := p.Accumulated(data.Config{Workers: 8, LocalBatch: x.batch})
		if c.LocalBatch != x.local || c.AccumSteps != int(x.steps) {
			t.Errorf("batch %g: %g in %d extra steps, want %g in %g", x.batch, c.LocalBatch, c.AccumSteps, x.local, x.steps)
		}
	}
}

// TestWhatRanFits: a configuration that ran with nearly all memory fits, and so does
// one of more workers; one of a larger batch may not.
func TestWhatRanFits(t *testing.T) {
	p := peaked(t, "a,a100-80gb,8,1,96,1.2,79 GiB,ok\n")
	for c, want := range map[[2]int]bool{{8, 96}: true, {16, 96}: true, {8, 110}: false, {1, 96}: false} {
		a, err := p.At(data.Config{Workers: c[0], LocalBatch: float64(c[1])})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Unfit() == ""; got != want {
			t.Errorf("%d workers, batch %d: P(fits) %g; fits: %t", c[0], c[1], *a.Fits(), want)
		}
	}
}

// TestBestBatchFits: of local batches measured on one worker, eight, which also need
// buffers, get none that may not fit.
func TestBestBatchFits(t *testing.T) {
	p := peaked(t, "a,a100-80gb,1,1,96,.8,79 GiB,ok\n")
	for workers, most := range map[int]float64{1: 96, 8: 48} {
		a, err := p.BestBatch(data.Config{Workers: workers})
		if err != nil || a.Config.LocalBatch > most || a.Unfit() != "" {
			t.Errorf("%d workers: %v, %s, %v; want a batch of at most %g", workers, a.Config, a.Unfit(), err, most)
		}
	}
}

// fitted returns a predictor by the measurements of a CSV file.
func fitted(t *testing.T, csv string) *Predictor {
	t.Helper()
	ms, _, err := data.ReadMeasurements(strings.NewReader(csv), "m.csv")
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &Predictor{Model: m}
}

// TestAccumulationOfWhatRan: of a model of far more parameters than are trained, half of
// what ran fits with accumulation too, in a pipeline only if no more is in flight.
func TestAccumulationOfWhatRan(t *testing.T) {
	p := fitted(t, `job,gpu_type,workers,nodes,local_batch,accum_steps,pp,step_time_s,model_parameters
a,l4,4,1,4,0,1,.1,7e9
a,l4,8,1,4,1,4,.2,7e9
`)
	if c := p.Accumulated(data.Config{Workers: 4, GPUType: "l4", LocalBatch: 32}); c.LocalBatch != 2 || c.AccumSteps != 15 {
		t.Errorf("batch %g in %d extra steps, want 2 in 15", c.LocalBatch, c.AccumSteps)
	}
	for accum, want := range map[int]bool{0: true, 1: true, 3: false} {
		c := data.Config{Workers: 8, GPUType: "l4", LocalBatch: 4, AccumSteps: accum, Layout: data.Layout{PP: 4}}
		if a, err := p.At(c); err != nil || (a.Unfit() == "") != want {
			t.Errorf("accumulation %d: %q, %v; fits: %t", accum, a.Unfit(), err, want)
		}
	}
}

// TestBestFits: Best leaves out what may not fit in memory, and says so if nothing is
// left.
func TestBestFits(t *testing.T) {
	p := peaked(t, "")
	best, err := Best(p, []data.Config{{Workers: 8, LocalBatch: 256}, {Workers: 8, LocalBatch: 32}}, Limits{})
	if err != nil || best.Config.LocalBatch != 32 {
		t.Errorf("%v, %v: want batch 32", best.Config, err)
	}
	p.Goal.Samples = 1e6
	_, err = Best(p, []data.Config{{Workers: 8, LocalBatch: 256}, {Workers: 8, LocalBatch: 32}}, Limits{Deadline: time.Second})
	if err == nil || !strings.Contains(err.Error(), "none of 1") || !strings.Contains(err.Error(), "batch 256: needs") {
		t.Errorf("error %v, want that the other one does not fit in memory", err)
	}
	_, err = Best(p, []data.Config{{Workers: 8, LocalBatch: 256}}, Limits{})
	if err == nil || !strings.Contains(err.Error(), "fits with probability") {
		t.Errorf("error %v, want that it does not fit", err)
	}
}

// TestCoveredBy: degrees that are not given are 1, and a pipeline holds more
// micro-batches until it is full.
func TestCoveredBy(t *testing.T) {
	piped := func(accum int) data.Config {
		return data.Config{Workers: 8, LocalBatch: 4, AccumSteps: accum, Layout: data.Layout{PP: 4}}
	}
	sharded := func(degree int) data.Config {
		return data.Config{Workers: 8, LocalBatch: 4, Layout: data.Layout{TP: degree, PP: degree, EP: degree, Sharding: "zero3"}}
	}
	length := func(tokens int) data.Config {
		c := sharded(1)
		c.SeqLen = tokens
		return c
	}
	hybrid := func(nodes int) data.Config {
		return data.Config{Workers: 16, Nodes: nodes, LocalBatch: 4, Layout: data.Layout{Sharding: "hybrid"}}
	}
	for _, x := range []struct {
		c, ran data.Config
		want   bool
	}{
		{length(512), length(512), true}, {length(1024), length(512), false}, {length(512), sharded(1), true},
		{sharded(1), sharded(0), true}, {sharded(0), sharded(1), true}, {sharded(2), sharded(1), false},
		{hybrid(2), hybrid(2), true}, {hybrid(4), hybrid(2), false}, {hybrid(2), hybrid(4), true},
		{piped(7), piped(1), false}, {piped(1), piped(7), true}, {piped(63), piped(3), true},
	} {
		if got := coveredBy(x.c, x.ran); got != x.want {
			t.Errorf("%v covered by %v: %t", x.c, x.ran, got)
		}
	}
}

// TestManyOfOne: what a single worker holds unlike the prior, as with adapters of few
// parameters, many hold too.
func TestManyOfOne(t *testing.T) {
	p := fitted(t, `job,gpu_type,workers,local_batch,step_time_s,model_parameters,layers,hidden,seq_len
l,a100,1,4,1.0,7e9,32,4096,1024
l,a100,1,8,1.9,7e9,32,4096,1024
`)
	for batch, want := range map[float64]bool{8: true, 64: false} {
		a, err := p.At(data.Config{Workers: 8, LocalBatch: batch})
		if err != nil || (a.Unfit() == "") != want {
			t.Errorf("batch %g on 8 workers: %q, %v; fits: %t", batch, a.Unfit(), err, want)
		}
	}
}

// TestOneOfMany: one worker fits where several did, with memory to spare.
func TestOneOfMany(t *testing.T) {
	rows := "job,gpu_type,workers,local_batch,step_time_s,peak_memory_bytes\n"
	for _, batch := range []float64{8, 16, 32, 62} {
		rows += fmt.Sprintf("v,v100,2,%g,%g,%g\nv,v100,4,%g,%g,%g\n", batch, batch, 2e9+.2e9*batch, batch, batch, 2e9+.204e9*batch)
	}
	p := fitted(t, rows)
	a, err := p.At(data.Config{Workers: 1, LocalBatch: 62})
	if err != nil || a.Unfit() != "" {
		t.Errorf("%q, %v; four such workers used 13.6 of 16 GiB", a.Unfit(), err)
	}
}

// What ran out of memory, and what needs as much, is not chosen where nobody knows how
// much memory there is.
func TestWhatRanOutOfMemoryIsNotChosen(t *testing.T) {
	ms, _, err := data.ReadMeasurements(strings.NewReader(`job,workers,tp,pp,local_batch,global_batch,sharding,recompute,step_time_s,status
gpt,32,1,1,2,256,zero1,none,,oom
gpt,32,1,1,1,256,zero1,none,6.4,ok
gpt,32,2,1,2,256,zero1,none,6,ok
gpt,32,4,1,4,256,zero1,none,5.9,ok
`), "m.csv")
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{16, 32} {
		all, err := (&Predictor{Model: m}).Layouts(LayoutQuestion{GPUType: m.GPUTypes()[0], Workers: workers})
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		for _, l := range all {
			if l.Config.AccumSteps > 0 && l.Config.TP <= 1 && l.Config.PP <= 1 && l.Config.LocalBatch >= 2 && (l.Config.Sharding == "" || l.Config.Sharding == "zero1") && l.Config.Recompute == "" {
				t.Errorf("%d workers: %s needs as much as what ran out of memory", workers, l.Config)
			}
		}
	}
}
