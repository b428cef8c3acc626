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

// Time that grows in proportion to the workers, as of a coordinator: intervals of a few
// rows contain it, and many rows show it.
func TestTimeInProportionToWorkers(t *testing.T) {
	for _, batches := range [][]float64{{32}, {16, 32, 64}} {
		inside, asked, off := 0., 0., 0.
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			at := func(workers int, batch float64) data.Measurement {
				step := .1 + .2*batch/32 + .3*float64(workers)/32
				return data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: workers, LocalBatch: batch, Nodes: (workers + 7) / 8}, Status: data.OK,
					StepTime: step * math.Exp(.01*r.NormFloat64())}
			}
			var ms []data.Measurement
			for workers := 1; workers <= 32; workers *= 2 {
				for _, b := range batches {
					ms = append(ms, at(workers, b))
				}
			}
			m, err := speed.Fit(context.Background(), ms, speed.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{64, 256} {
				want := at(workers, 32)
				p, err := m.Predict(want.Config)
				if err != nil {
					t.Fatal(err)
				}
				if asked++; p.StepTime.Lo <= want.StepTime && want.StepTime <= p.StepTime.Hi {
					inside++
				}
				if workers == 64 {
					off += math.Abs(p.StepTime.Mean/want.StepTime-1) / 8
				}
			}
		}
		if t.Logf("%d batches: %.0f of %.0f inside, %.0f %% off at 64 workers", len(batches), inside, asked, 100*off); inside < .8*asked || len(batches) > 1 && off > .1 {
			t.Errorf("%d batches: %.0f of %.0f truths inside, %.0f %% off at twice the workers", len(batches), inside, asked, 100*off)
		}
	}
}

// A plateau that many rows show is not forgotten: here all wait for storage from eight
// workers on.
func TestStorageOfManyRows(t *testing.T) {
	inside, asked := 0., 0.
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		at := func(workers int, batch float64) data.Measurement {
			step := max(.05+.2*batch/32, .04*batch/32*float64(workers))
			return data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: workers, LocalBatch: batch}, Status: data.OK,
				StepTime: step * math.Exp(.02*r.NormFloat64())}
		}
		var ms []data.Measurement
		for workers := 1; workers <= 16; workers *= 2 {
			for _, b := range []float64{8, 16, 32, 64} {
				ms = append(ms, at(workers, b))
			}
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{32, 128} {
			want := at(workers, 32)
			p, err := m.Predict(want.Config)
			if err != nil {
				t.Fatal(err)
			}
			if asked++; p.StepTime.Lo <= want.StepTime && want.StepTime <= p.StepTime.Hi {
				inside++
			}
		}
	}
	if t.Logf("%.0f of %.0f inside", inside, asked); inside < .7*asked {
		t.Errorf("%.0f of %.0f truths inside", inside, asked)
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
