package plan

import (
	"fmt"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/predict"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// TestSharedTables: jobs that share a model get the options they would get
// alone, with a cache and without.
func TestSharedTables(t *testing.T) {
	pr := sharedModel(t, 4)
	pr.Cache = &Cache{}
	for range 2 { // the second time from the cache
		shared, err := prepare(pr, oraclesOf(pr))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(shared.tables.list); n != 2 {
			t.Errorf("%d tables for jobs of two kinds", n)
		}
		for i, job := range pr.Jobs {
			lone := pr
			lone.Jobs, lone.Cache, lone.FairSlots = []data.Job{job}, nil, pr.Cluster.Slots()/len(pr.Jobs)
			alone, err := prepare(lone, oraclesOf(lone))
			if err != nil {
				t.Fatal(err)
			}
			got, want := shared.state.Jobs[i].Options, alone.state.Jobs[0].Options
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" || len(want) < 20 {
				t.Errorf("%s: %d options, of which with a shared model (+) differ:\n%s", job.Name, len(want), d)
			}
		}
	}
}

// BenchmarkTables prints the processor time of the option tables of 200 jobs
// that share a model.
func BenchmarkTables(b *testing.B) {
	pr := sharedModel(b, 200)
	began := processorSeconds()
	for b.Loop() {
		if _, err := prepare(pr, oraclesOf(pr)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*(processorSeconds()-began)/float64(b.N), "ms-cpu/op")
}
