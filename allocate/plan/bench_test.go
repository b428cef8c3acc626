package plan_test

import (
	"path/filepath"
	"testing"

	"knee/allocate"
	"knee/allocate/plan"
	"knee/allocate/solve"
	"knee/data"
	"knee/fit"
	"knee/internal/bench"
	"knee/predict"
)

// TestMeasuredJobs plans four jobs whose models were fitted to measured
// all-reduce step times, on four nodes of four T4: the plan must be within
// 5 % of its bound and worth more than the even split.
func TestMeasuredJobs(t *testing.T) {
	dir := bench.Dir(t)
	pr := plan.Problem{Cluster: &data.Cluster{}, Predictors: map[string]*predict.Predictor{}, Seed: 1}
	for _, n := range []string{"t1", "t2", "t3", "t4"} {
		pr.Cluster.Nodes = append(pr.Cluster.Nodes, data.Node{Name: n, GPUType: "t4", GPUs: 4, PricePerHour: 4})
	}
	for _, j := range []struct {
		name                 string
		initial, max, epochs float64
		dataset              float64
	}{
		{"cifar10", 128, 4096, 30, 50000},
		{"bert", 12, 384, 2, 88000},
		{"deepspeech2", 20, 640, 10, 28000},
		{"yolov3", 8, 512, 20, 16000},
	} {
		pr.Predictors[j.name] = &predict.Predictor{Model: fitted(t, filepath.Join(dir, "allreduce", j.name+"-t4-placements.csv"))}
		pr.Jobs = append(pr.Jobs, data.Job{Name: j.name, Workers: data.IntRange{Min: 1, Max: 16}, RestartSeconds: 30,
			Remaining: data.Remaining{Epochs: j.epochs, Dataset: j.dataset}, Batch: data.Batch{Initial: j.initial, Max: j.max, Adapt: true}})
	}
	made, err := plan.Solve(pr, nil)
	if err != nil {
		t.Fatal(err)
	}
	held := pr
	held.KeepBatch = true
	even, err := plan.Solve(held, allocate.PolicyFunc(solve.Even))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range made.Jobs {
		t.Logf("%s: %s, goodput %.4g samples/s, %.4g s left: %s", j.Name, j.Action, j.Goodput.Mean, j.Finish.Mean, j.Reason)
	}
	t.Logf("value %.4g, bound %.4g, even split %.4g; warnings %q", made.Value, made.Bound, even.Value, made.Warnings)
	if made.Gap > 0.05 || made.Value <= even.Value || made.Utilization.GPUsUsed != 16 {
		t.Errorf("gap %g, value %g, even split %g, %d GPUs used", made.Gap, made.Value, even.Value, made.Utilization.GPUsUsed)
	}
}

func fitted(t *testing.T, path string) *fit.Model {
	t.Helper()
	f, err := data.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ms, _, err := data.ReadMeasurements(f, path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.Fit(ms, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
