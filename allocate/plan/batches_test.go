package plan

import (
	"fmt"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/predict"

	"github.com/google/go-cmp/cmp"
)

// sharedModel is jobs that differ in what they have left to do, and half of
// them in their largest batch, with one model of t4 and v100.
func sharedModel(tb testing.TB, jobs int) Problem {
	var ms []data.Measurement
	for gpu, speed := range map[string]float64{"t4": 1, "v100": 2} {
		for _, at := range []string{"1", "2", "4", "1-1", "2-2", "4-4", "4-4-4-4"} {
			for _, batch := range []float64{16, 32, 64} {
				p, err := data.ParsePlacement(at)
				if err != nil {
					tb.Fatal(err)
				}
				c := data.Config{Job: "toy", GPUType: gpu, Mode: data.AllReduce, Placement: p, Nodes: len(p), Workers: p.Workers(), LocalBatch: batch}
				t := 0.01*batch/speed + 0.05*float64(len(p)) + 0.01*float64(c.Workers)
				ms = append(ms, data.Measurement{Config: c, StepTime: t, Status: data.OK})
			}
		}
	}
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	pr := Problem{Cluster: testCluster(append(nodes("t4", jobs, 4), nodes("v100", jobs, 4)...)...), Predictors: map[string]*predict.Predictor{}}
	for i := range jobs {
		job := named(fmt.Sprintf("job%d", i), 1, 16)
		job.Remaining.Steps = float64(1000 * (1 + i))
		job.Batch = data.Batch{Initial: 64, Max: float64(int(1024) << (i % 2)), Adapt: true}
		pr.Jobs, pr.Predictors[job.Name] = append(pr.Jobs, job), &predict.Predictor{Model: m}
	}
	return pr
}

// TestSharedBatches: jobs that share a model get the tables they would get
// alone.
func TestSharedBatches(t *testing.T) {
	pr := sharedModel(t, 4)
	oracles, err := oraclesOf(pr)
	if err != nil {
		t.Fatal(err)
	}
	for i, job := range pr.Jobs {
		shared, err := buildOptions(job, oracles[i], newClusterFit(pr.Cluster))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := buildOptions(job, modelled{Predictor: oracles[i].(modelled).Predictor}, newClusterFit(pr.Cluster))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(alone, shared); d != "" || len(alone) < 20 {
			t.Errorf("%s: %d options, of which with a shared model (+) differ:\n%s", job.Name, len(alone), d)
		}
	}
	if known := oracles[0].(modelled).known; len(known) == 0 {
		t.Error("nothing was remembered")
	}
}

// BenchmarkTables prints the processor time of the option tables of 200 jobs
// that share a model, with and without remembering the best batches.
func BenchmarkTables(b *testing.B) {
	pr := sharedModel(b, 200)
	for _, shared := range []bool{true, false} {
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			began := processorSeconds()
			for b.Loop() {
				oracles, err := oraclesOf(pr)
				if err != nil {
					b.Fatal(err)
				}
				for i := range oracles {
					if !shared {
						oracles[i] = modelled{Predictor: oracles[i].(modelled).Predictor}
					}
				}
				if _, err := prepare(pr, oracles); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1000*(processorSeconds()-began)/float64(b.N), "ms-cpu/op")
		})
	}
}
