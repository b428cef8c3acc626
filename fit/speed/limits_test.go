package speed_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// foreseen fits eight jobs, of up to most workers at some batches, and predicts twice and
// eight times as many at batch 32. It returns the share of truths inside, and the mean
// error at twice the workers.
func foreseen(t *testing.T, most int, batches []float64, placed bool, noise float64, step func(workers, batch float64) float64) (inside, off float64) {
	t.Helper()
	const jobs = 8
	for seed := range uint64(jobs) {
		r := rand.New(rand.NewPCG(seed, 3))
		at := func(workers int, batch float64) data.Measurement {
			m := data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: workers, LocalBatch: batch}, Status: data.OK,
				StepTime: step(float64(workers), batch) * math.Exp(noise*r.NormFloat64())}
			if placed {
				m.Nodes = (workers + 7) / 8
			}
			return m
		}
		var ms []data.Measurement
		for workers := 1; workers <= most; workers *= 2 {
			for _, b := range batches {
				ms = append(ms, at(workers, b))
			}
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, times := range []int{2, 8} {
			want := at(times*most, 32)
			p, err := m.Predict(want.Config)
			if err != nil {
				t.Fatal(err)
			}
			if p.StepTime.Lo <= want.StepTime && want.StepTime <= p.StepTime.Hi {
				inside += 1. / (2 * jobs)
			}
			if times == 2 {
				off += math.Abs(p.StepTime.Mean/want.StepTime-1) / jobs
			}
		}
	}
	return inside, off
}

// What limits a job at many workers is foreseen once the measurements show it: intervals
// of a few rows contain it, and many rows tell.
func TestLimitsAtManyWorkers(t *testing.T) {
	four := []float64{8, 16, 32, 64}
	for _, tc := range []struct {
		name    string
		most    int
		batches []float64
		placed  bool
		noise   float64
		step    func(workers, batch float64) float64
		off     float64 // most
	}{
		{"a coordinator, few rows", 32, []float64{32}, true, .01, func(k, b float64) float64 { return .1 + .2*b/32 + .3*k/32 }, .1},
		{"a coordinator", 32, []float64{16, 32, 64}, true, .01, func(k, b float64) float64 { return .1 + .2*b/32 + .3*k/32 }, .1},
		{"storage that all wait for", 16, four, false, .02, func(k, b float64) float64 { return max(.05+.2*b/32, .04*b/32*k) }, .1},
		{"input in turn", 16, four, false, .02, func(k, b float64) float64 { return .05 + .2*b/32 + .01*b/32*k }, .1},
	} {
		inside, off := foreseen(t, tc.most, tc.batches, tc.placed, tc.noise, tc.step)
		if t.Logf("%s: %.0f %% inside, %.0f %% off", tc.name, 100*inside, 100*off); inside < .7 || off > tc.off {
			t.Errorf("%s: %.0f %% of the truths inside, %.0f %% off at twice the workers", tc.name, 100*inside, 100*off)
		}
	}
}

// Servers that many workers saturate are believed: the slow row is no disturbed run.
func TestSaturatedServers(t *testing.T) {
	var ms []data.Measurement
	for _, row := range [][3]float64{{1, 1, .3259}, {1, 2, .3280}, {1, 4, .3412}, {2, 1, .1642}, {2, 2, .1619}, {2, 4, .1636},
		{4, 1, .0904}, {4, 2, .0785}, {4, 4, .0782}, {8, 1, .0803}, {8, 2, .0443}, {8, 4, .0428}} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Mode: data.PSAsync, Workers: int(row[0]), PS: int(row[1]), LocalBatch: 32}, StepTime: row[2], Status: data.OK})
	}
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(data.Config{GPUType: "a100", Mode: data.PSAsync, Workers: 8, PS: 1, LocalBatch: 32})
	if err != nil || math.Abs(p.StepTime.Mean/.0803-1) > .15 || slices.ContainsFunc(m.Warnings(), func(w string) bool { return strings.Contains(w, "disturbed") }) {
		t.Errorf("of 8 workers and one server %+v, measured .0803 s; error %v, warnings %q", p.StepTime, err, m.Warnings())
	}
}

// Where only one worker and many nodes were measured, links inside nodes may be fast: on one
// node, and up to any size that a node may have where nodes are unknown.
func TestLinksInsideNodesUnmeasured(t *testing.T) {
	for _, placed := range []bool{true, false} {
		at := func(workers int) data.Measurement {
			m := data.Measurement{Status: data.OK, StepTime: .2, Config: data.Config{Job: "j", GPUType: "a100", Workers: workers, LocalBatch: 64}}
			if placed {
				m.Nodes = (workers + 7) / 8
			}
			if workers > 32 {
				m.StepTime += .45
			}
			m.StepTime *= 1 + .01*math.Sin(float64(workers))
			return m
		}
		var ms []data.Measurement
		for _, workers := range []int{1, 40, 48, 64} {
			ms = append(ms, at(workers))
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{8, 32} {
			if placed && workers > 8 {
				continue
			}
			p, err := m.Predict(at(workers).Config)
			if err != nil {
				t.Fatal(err)
			}
			if e := p.StepTime; e.Lo > .3 || e.Hi < .5 {
				t.Errorf("nodes known: %v, %d workers: %v, want fast and slow links inside nodes", placed, workers, e)
			}
		}
	}
}
