package modelled

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/data"
	"knee/fit"
)

// table is a few measurements of a job whose step takes 0.1 s and 0.02 s more
// for every worker beyond the first.
func table(t *testing.T) string {
	t.Helper()
	rows := []string{"job,gpu_type,mode,workers,local_batch,step_time_s,status"}
	for _, w := range []int{1, 2, 4} {
		rows = append(rows, fmt.Sprintf("x,t4,allreduce,%d,32,%g,ok", w, 0.1+0.02*float64(w-1)))
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func nodes() *data.Cluster {
	return &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 4}, {Name: "b", GPUType: "t4", GPUs: 4}}}
}

// TestTruth: where it was measured, the truth is the measurement; elsewhere it
// is a world of the posterior, which differs from the prediction and between
// seeds, and lies inside the interval as often as that promises.
func TestTruth(t *testing.T) {
	file := table(t)
	m, _, err := Fit(t.Context(), file, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{1, 2, 4} {
		v, err := m.apps["x"].goodput(data.Config{GPUType: "t4", Mode: data.AllReduce, Workers: w, LocalBatch: 32})
		if want := 32 * float64(w) / (0.1 + 0.02*float64(w-1)); err != nil || math.Abs(v-want) > 1e-9 {
			t.Errorf("%d workers: %g samples/s (%v), measured %g", w, v, err, want)
		}
	}
	all, _, err := data.LoadMeasurements(file)
	if err != nil {
		t.Fatal(err)
	}
	model, err := fit.Fit(all, fit.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := data.Config{GPUType: "t4", Mode: data.AllReduce, Workers: 8, LocalBatch: 32}
	p, err := model.Predict(c)
	if err != nil {
		t.Fatal(err)
	}
	inside, first := 0, 0.0
	const worlds = 200
	for seed := range int64(worlds) {
		step, err := model.World(seed)(c)
		if err != nil {
			t.Fatal(err)
		}
		if seed == 0 {
			first = step
		} else if seed == 1 && step == first {
			t.Error("two worlds are the same")
		}
		if step >= p.StepTime.Lo && step <= p.StepTime.Hi {
			inside++
		}
	}
	// The interval holds 90 % of runs, and worlds have no run noise.
	if inside < 0.85*worlds || inside == worlds {
		t.Errorf("%d of %d worlds inside the 90 %% interval", inside, worlds)
	}
}

// TestJobsSpeakOfTime: a job that took 100 s on two workers does that in 100 s
// when it gets them, whatever the model thinks.
func TestJobsSpeakOfTime(t *testing.T) {
	m, _, err := Fit(t.Context(), table(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := simulate.ReadWorkload(strings.NewReader("job,submit_s,application,workers,duration_s\nj,0,x,2,100\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := m.Jobs(w, nodes(), true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Run(jobs, simulate.Settings{Cluster: nodes(), Policy: policy.FIFO{}, Truth: m.Truth})
	if err != nil {
		t.Fatal(err)
	}
	if end := r.Jobs[0].End; math.Abs(end-100) > 1e-6 {
		t.Errorf("ends at %g s, want 100", end)
	}
	w[0].Application = "y"
	if _, err := m.Jobs(w, nodes(), true); err == nil || !strings.Contains(err.Error(), `w.csv:2:application: found "y" for job j, want an application with a model: x`) {
		t.Errorf("error %v", err)
	}
}
