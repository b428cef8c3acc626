package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/fit"
	"knee/internal/list"
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

// TestNoOptionRunsOutOfMemory: of a model measured up to 32 samples per worker, with 256
// out of memory, a job is never offered a batch that may run out of memory: a fixed
// batch is accumulated, and a job of logical workers, which are not divided, is refused
// with the figures.
func TestNoOptionRunsOutOfMemory(t *testing.T) {
	var ms []data.Measurement
	for batch, peak := range map[float64]float64{8: 8e9, 16: 14e9, 32: 26e9, 256: 0} {
		m := data.Measurement{Config: data.Config{Job: "a", GPUType: "a100-80gb", Workers: 8, Nodes: 1, LocalBatch: batch}, StepTime: batch / 80, PeakMemory: peak, Status: data.OK}
		if peak == 0 {
			m.StepTime, m.Status = 0, data.OOM
		}
		ms = append(ms, m)
	}
	model, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	cluster := testCluster(nodes("a100-80gb", 2, 8)...)
	for _, batch := range []data.Batch{{Initial: 2048}, {Initial: 2048, Max: 1 << 20, Adapt: true}, {Initial: 64, Max: 1 << 20, Adapt: true}} {
		job := named("a", 1, 16)
		job.Batch = batch
		options, err := Options(job, &predict.Predictor{Model: model, Batch: batch}, cluster)
		if err != nil || len(options) < 5 {
			t.Fatalf("%+v: %d options, %v", batch, len(options), err)
		}
		for _, o := range options {
			if *o.Fits() < predict.LeastFits || !batch.Adapt && o.Config.GlobalBatch() != batch.Initial {
				t.Errorf("%+v: %v with P(fits) %.3f", batch, o.Config, *o.Fits())
			}
		}
	}
	job := named("a", 8, 8)
	job.Batch, job.LogicalWorkers, job.Remaining.Steps = data.Batch{Initial: 2048}, 8, 1000
	_, err = Solve(Problem{Cluster: cluster, Jobs: []data.Job{job}, Predictors: map[string]*predict.Predictor{"a": {Model: model}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "batch 256 needs") || !strings.Contains(err.Error(), "where a100-80gb has 80, and fits with probability 0.0") {
		t.Errorf("error %v, want what the batch of 256 needs", err)
	}
}

// TestMeasuredMemoryOfACard: a plain a100 is taken to have 40 GiB, and the reason says where
// to give more; with gpu_memory_bytes in the measurements the job is planned.
func TestMeasuredMemoryOfACard(t *testing.T) {
	for _, has := range []float64{0, 80 << 30} {
		var ms []data.Measurement
		for batch, peak := range map[float64]float64{8: 8e9, 16: 14e9, 32: 26e9} {
			c := data.Config{Job: "a", GPUType: "a100", Workers: 8, Nodes: 1, LocalBatch: batch}
			ms = append(ms, data.Measurement{Config: c, StepTime: batch / 80, PeakMemory: peak, GPUMemory: has, Status: data.OK})
		}
		model, err := fit.Fit(ms, fit.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		job := named("a", 8, 8)
		job.Batch, job.LogicalWorkers, job.Remaining.Steps = data.Batch{Initial: 512}, 8, 1000
		_, err = Solve(Problem{Cluster: testCluster(nodes("a100", 1, 8)...), Jobs: []data.Job{job}, Predictors: map[string]*predict.Predictor{"a": {Model: model}}}, nil)
		want := "if this a100 has more, give gpu_memory_bytes in its measurements"
		if has > 0 {
			want = "<nil>"
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%g bytes: %v, want %s", has, err, want)
		}
	}
}

// TestWhatRunsFits: a job that runs where the memory model says it cannot may stay there, if a
// restart takes longer than what is left.
func TestWhatRunsFits(t *testing.T) {
	var ms []data.Measurement
	for _, m := range []struct {
		gpu         string
		batch, peak float64
	}{{"a100", 8, 9e9}, {"a100", 32, 30e9}, {"t4", 4, 6e9}, {"t4", 8, 9e9}} {
		c := data.Config{Job: "a", GPUType: m.gpu, Workers: 8, Nodes: 1, LocalBatch: m.batch}
		ms = append(ms, data.Measurement{Config: c, StepTime: m.batch / 80, PeakMemory: m.peak, Status: data.OK})
	}
	model, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	job := named("a", 8, 8)
	job.Batch, job.LogicalWorkers, job.Remaining.Steps, job.RestartSeconds = data.Batch{Initial: 256}, 8, 1000, 1e6
	job.Current = &data.Current{GPUType: "t4", Placement: data.Placement{8}}
	cluster := testCluster(append(nodes("t4", 1, 8), nodes("a100", 1, 8)...)...)
	plan, err := Solve(Problem{Cluster: cluster, Jobs: []data.Job{job}, Predictors: map[string]*predict.Predictor{"a": {Model: model}}}, nil)
	if err != nil || plan.Jobs[0].Action != data.Keep || plan.Jobs[0].Goodput.Mean <= 0 {
		t.Errorf("%+v, %v: want it to stay", plan, err)
	}
}

// TestSizesDivideAFixedBatch: sizes that divide a fixed batch are offered, others only if
// none does.
func TestSizesDivideAFixedBatch(t *testing.T) {
	for _, c := range []struct{ counts, want []int }{
		{[]int{3}, []int{3}}, {[]int{3, 4, 5, 8}, []int{4, 8}}, {[]int{1, 2, 3, 4}, []int{1, 2, 4}}, {[]int{5, 6, 7}, []int{5, 6, 7}},
	} {
		if got := whole(data.Job{}, 32, slices.Clone(c.counts)); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.counts, got, c.want)
		}
	}
}

// A batch that all measurements have is fixed for a job that gives none, or may adapt its
// own; of 3 × 85.33 and 4 × 64 samples it is 256.
func TestSizesDivideTheMeasuredBatch(t *testing.T) {
	var ms []data.Measurement
	for w, step := range map[int]float64{1: .5, 2: .27, 3: .19, 4: .15} {
		local := math.Floor(25600/float64(w)) / 100
		ms = append(ms, data.Measurement{Config: data.Config{Job: "a", GPUType: "t4", Mode: data.AllReduce, Workers: w, LocalBatch: local}, StepTime: step, Steps: 100, Status: data.OK})
	}
	model, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []data.Job{named("a", 1, 8), {Name: "a", Workers: data.IntRange{Min: 1, Max: 8}}} {
		options, err := Options(job, &predict.Predictor{Model: model, Batch: job.Batch}, testCluster(nodes("t4", 1, 8)...))
		if err != nil {
			t.Fatal(err)
		}
		got := list.Map(options, func(o allocate.Option) string { return fmt.Sprintf("%d × %g", o.Config.Workers, o.Config.LocalBatch) })
		if want := []string{"1 × 256", "2 × 128", "4 × 64", "8 × 32"}; !slices.Equal(got, want) {
			t.Errorf("%+v: options %q, want %q", job.Batch, got, want)
		}
	}
}

// TestAnotherJobTakesUnequalShares: of three nodes of four GPUs jobs of 6, 3 and 2
// workers all get theirs if that of six runs as 4-2.
func TestAnotherJobTakesUnequalShares(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 3, 4)...), Jobs: []data.Job{named("six", 6, 6), named("two", 2, 2), named("three", 3, 3)}}
	made, err := solveWith(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"4-2", "2", "3"} {
		if got := made.Jobs[i].Config().Placement.String(); got != want {
			t.Errorf("%s as %s, want %s", made.Jobs[i].Name, got, want)
		}
	}
}

// TestServersLeaveCoresToWorkers: a node of GPUs has cores for four workers of two jobs if
// their servers are on the other node.
func TestServersLeaveCoresToWorkers(t *testing.T) {
	c := testCluster(data.Node{Name: "g", GPUType: "t4", GPUs: 4, CPUs: 8}, data.Node{Name: "c", GPUType: "cpu", GPUs: 1, CPUs: 4})
	jobs, o := []data.Job{named("a", 2, 2), named("b", 2, 2)}, t4(0.9, 1e6)
	o.modes = []data.Mode{data.PSSync}
	for i := range jobs {
		jobs[i].PS = data.IntRange{Min: 1, Max: 1}
		jobs[i].Resources = data.Resources{Worker: data.Need{CPUs: 2}, PS: data.Need{CPUs: 2}}
	}
	made, err := solveWith(Problem{Cluster: c, Jobs: jobs}, []oracle{o, o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range made.Jobs {
		if got := fmt.Sprint(j.Placement); got != "[{g 2 0} {c 0 1}]" {
			t.Errorf("job %s on %s, want [{g 2 0} {c 0 1}]", j.Name, got)
		}
	}
}

// linear is an oracle of which the speed is proportional to the local batch, at most 64.
type linear struct{ law }

func (l linear) At(c data.Config) (predict.Answer, error) {
	if c.LocalBatch > 64 {
		return predict.Answer{}, errors.New("batch not measured")
	}
	l.rates = map[string]float64{"t4": 100 * c.LocalBatch / 64}
	return l.law.At(c)
}

func (l linear) BestBatch(c data.Config) (predict.Answer, error) {
	c.LocalBatch = 64
	return l.At(c)
}

// TestKeptJobsRunAtTheirBestBatch: a job that stays is valued at the best batch where it
// runs, or at its fixed one; that it runs at another is said of a job that cannot adapt.
func TestKeptJobsRunAtTheirBestBatch(t *testing.T) {
	for name, tt := range map[string]struct {
		batch  data.Batch
		lo     int
		shape  data.Placement
		warned bool
	}{
		"adaptive":         {data.Batch{Initial: 64, Adapt: true}, 1, data.Placement{4}, false},
		"adaptive, uneven": {data.Batch{Initial: 64, Adapt: true}, 1, data.Placement{3, 1}, false},
		"fixed":            {data.Batch{Initial: 256}, 4, data.Placement{4}, true},
	} {
		job := named("a", tt.lo, 4)
		job.Batch = tt.batch
		job.Current = &data.Current{GPUType: "t4", Placement: tt.shape, Nodes: []string{"t41", "t42"}[:len(tt.shape)], LocalBatch: 16}
		pr := Problem{Cluster: testCluster(nodes("t4", len(tt.shape), 4)...), Jobs: []data.Job{job}}
		pr.Cluster.Nodes[0].GPUs = tt.shape[0] // the shape is the only one
		if len(tt.shape) > 1 {
			pr.Cluster.Nodes[1].GPUs = tt.shape[1]
		}
		made, err := solveWith(pr, []oracle{linear{t4(0.9, 1e6)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		j := made.Jobs[0]
		if said := slices.ContainsFunc(made.Warnings, func(w string) bool { return strings.Contains(w, "64 samples a step and is planned with 256") }); j.Action != data.Keep || j.Workers != 4 || j.LocalBatch != 64 || said != tt.warned {
			t.Errorf("%s: %s %d workers at a batch of %g, warnings %q", name, j.Action, j.Workers, j.LocalBatch, made.Warnings)
		}
	}
}
