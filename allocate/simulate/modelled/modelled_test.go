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
	return written(t, strings.Join(rows, "\n")+"\n")
}

// written returns the path of a new table.
func written(t *testing.T, rows string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// fitted returns the models of a table.
func fitted(t *testing.T, file string) *Models {
	t.Helper()
	m, _, err := Fit(t.Context(), file, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func nodes() *data.Cluster {
	return &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 4}, {Name: "b", GPUType: "t4", GPUs: 4}}}
}

// TestTruth: where it was measured, the truth is the measurement; elsewhere it
// is a world of the posterior, which differs from the prediction and between
// seeds, and lies inside the interval as often as that promises.
func TestTruth(t *testing.T) {
	file := table(t)
	m := fitted(t, file)
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
	m := fitted(t, table(t))
	w, _, err := simulate.ReadWorkload(strings.NewReader("job,submit_s,application,workers,duration_s\nj,0,x,2,100\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := m.Jobs(w, nodes(), true, false)
	if err != nil {
		t.Fatal(err)
	}
	fifo, err := policy.New("fifo")
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Run(jobs, simulate.Settings{Cluster: nodes(), Policy: fifo, Truth: m.Truth})
	if err != nil {
		t.Fatal(err)
	}
	if end := r.Jobs[0].End; math.Abs(end-100) > 1e-6 {
		t.Errorf("ends at %g s, want 100", end)
	}
	if same, err := m.Jobs(w, nodes(), false, false); err != nil || same[0].Work != jobs[0].Work {
		t.Errorf("for a policy that adapts batches it is %g samples, not %g; error %v", same[0].Work, jobs[0].Work, err)
	}
	w[0].Application = "y"
	if _, err := m.Jobs(w, nodes(), true, false); err == nil || !strings.Contains(err.Error(), `w.csv:2:application: found "y" for job "j", want an application with a model: x`) {
		t.Errorf("error %v", err)
	}
	w[0].Application = "x"
	other := &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "h100", GPUs: 8}}}
	if _, err := m.Jobs(w, other, true, false); err == nil || !strings.Contains(err.Error(), `"x", measured on t4 for job "j", want one measured on a GPU type of the cluster, h100`) {
		t.Errorf("on a type that was not measured: %v", err)
	}
	w[0].Application, w[0].WorkersMin, w[0].Logical = "x", 2, 11
	if _, err := m.Jobs(w, nodes(), false, false); err == nil || !strings.Contains(err.Error(), `w.csv:2:logical_workers: found 11 for job "j"`) {
		t.Errorf("error %v", err)
	}
}

// TestStepsAreOfTheBatchAskedFor: a job has the same work under every policy,
// and in a world of asynchronous servers, whose updates are of one worker.
func TestStepsAreOfTheBatchAskedFor(t *testing.T) {
	rows := "job,gpu_type,mode,workers,ps,local_batch,step_time_s\nx,t4,ps-async,1,1,32,0.1\nx,t4,ps-async,2,1,32,0.05\nx,t4,ps-async,4,1,32,0.03\n"
	file := written(t, rows)
	m := fitted(t, file)
	for _, gang := range []bool{true, false} {
		jobs, err := m.Jobs([]simulate.Job{{Name: "j", Application: "x", TotalSteps: 1000, Batch: 64, Workers: 4}}, nodes(), gang, false)
		if err != nil || jobs[0].Work != 64000 {
			t.Errorf("1000 steps of 64 samples are %g samples (%v), rigid: %v", jobs[0].Work, err, gang)
		}
	}
	for row, want := range map[string][2]float64{ // work and declared work, samples
		"1000,,,0.25":   {16000, 64000},
		"1000,,4000,":   {64000, 256000},
		"1000,50,200,":  {64000, 256000},
		"1000,50,,0.25": {16000, 64000},
		"1000,50,,":     {64000, 0},
	} {
		w, _, err := simulate.ReadWorkload(strings.NewReader("application,submit_s,global_batch,total_steps,duration_s,declared,ends_at\nx,0,64,"+row+"\n"), "w.csv")
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := m.Jobs(w, nodes(), false, false)
		if err != nil || jobs[0].Work != want[0] || jobs[0].Declared != want[1] {
			t.Errorf("%s: %g samples of %g declared (%v), want %g of %g", row, jobs[0].Work, jobs[0].Declared, err, want[0], want[1])
		}
	}
}

// TestMeasuredBatches: a job whose size is fixed runs at its batch, where that was
// measured.
func TestMeasuredBatches(t *testing.T) {
	rows := "job,gpu_type,mode,nodes,workers,local_batch,step_time_s\nx,t4,allreduce,1,4,32,0.1\nx,t4,allreduce,1,4,64,0.12\n"
	file := written(t, rows)
	m := fitted(t, file)
	if _, err := m.Measure(file, true); err != nil {
		t.Fatal(err)
	}
	for batch, step := range map[float64]float64{128: .1, 256: .12} {
		jobs, err := m.Jobs([]simulate.Job{{Name: "j", Application: "x", TotalSteps: 1000, Batch: batch, Workers: 4, Rigid: true}}, nodes(), false, false)
		if err != nil {
			t.Fatal(err)
		}
		fifo, err := policy.New("fifo")
		if err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(jobs, simulate.Settings{Cluster: nodes(), Policy: fifo, Truth: m.Truth})
		if err != nil || math.Abs(r.Jobs[0].End-1000*step) > 1e-6 {
			t.Errorf("batch %g ends at %g s, error %v, want %g", batch, r.Jobs[0].End, err, 1000*step)
		}
	}
}

// TestMeasuredNodes: workers on one node and on two are two configurations, whether a row
// gives the nodes or the placement.
func TestMeasuredNodes(t *testing.T) {
	for header, column := range map[string][5]string{"nodes": {"1", "1", "2", "1", "2"}, "placement": {"1", "2", "1-1", "4", "2-2"}} {
		rows := "job,gpu_type,mode,workers,global_batch,step_time_s," + header + "\n"
		for i, r := range []string{"1,256,0.4", "2,256,0.2", "2,256,0.8", "4,256,0.1", "4,256,0.9"} {
			rows += "x,t4,allreduce," + r + "," + column[i] + "\n"
		}
		file := written(t, rows)
		m := fitted(t, file)
		if _, err := m.Measure(file, false); err != nil {
			t.Fatal(err)
		}
		for placement, step := range map[string]float64{"2": .2, "1-1": .8, "4": .1, "2-2": .9} {
			p, err := data.ParsePlacement(placement)
			if err != nil {
				t.Fatal(err)
			}
			v, err := m.Truth(&simulate.Job{Application: "x"}, data.Config{GPUType: "t4", Workers: p.Workers(), Placement: p, LocalBatch: 256 / float64(p.Workers())}, 0)
			if err != nil || math.Abs(256/v-step) > 1e-9 {
				t.Errorf("rows with %s: steps as %s take %g s (%v), want %g", header, placement, 256/v, err, step)
			}
		}
	}
}

// TestMeasuredLayouts: jobs run only what was measured, at the layout that
// should be fastest for a size, or the one they asked for where it is fixed; an
// oracle is told what was measured.
func TestMeasuredLayouts(t *testing.T) {
	rows := "job,gpu_type,mode,nodes,workers,placement,tp,pp,sharding,global_batch,step_time_s,status\n"
	for i, s := range []string{"none", "zero2"} {
		for w := 1; w <= 4; w *= 2 {
			rows += fmt.Sprintf("x,t4,allreduce,1,%d,%d,1,1,%s,32,%g,ok\n", w, w, s, (1+0.5*float64(i))/float64(w)+0.05)
		}
	}
	file := written(t, rows)
	for _, tt := range []struct {
		fixed, oracle bool
		step          float64 // on 4 GPUs, s
	}{{false, false, 0.3}, {false, true, 0.3}, {true, true, 0.425}} {
		m := fitted(t, file)
		if _, err := m.Measure(file, tt.oracle); err != nil {
			t.Fatal(err)
		}
		jobs, err := m.Jobs([]simulate.Job{{Name: "j", Application: "x", TotalSteps: 100, Layout: &data.Layout{Sharding: "zero2"}, FixedLayout: tt.fixed}}, nodes(), false, false)
		if err != nil {
			t.Fatal(err)
		}
		options := jobs[0].Learner.Options(nil)
		if len(options) != 3 || jobs[0].Work != 3200 {
			t.Fatalf("%d options and %g samples, want 1, 2 and 4 GPUs and 3200", len(options), jobs[0].Work)
		}
		v, err := m.Truth(&jobs[0], options[2].Config, 0)
		if want := 32 / tt.step; err != nil || math.Abs(v/want-1) > 1e-9 {
			t.Errorf("%+v: %g samples/s (%v), want %g", tt, v, err, want)
		}
		if told := options[2].Answer.Goodput.Mean; tt.oracle && told != v {
			t.Errorf("an oracle is told %g samples/s, the truth is %g", told, v)
		}
	}
}

// TestRestartsAreMeasured: a job of a model whose starts took 7 s makes no
// progress for 7 s.
func TestRestartsAreMeasured(t *testing.T) {
	rows := "job,gpu_type,mode,workers,local_batch,step_time_s,start_seconds,status\nx,t4,allreduce,1,32,0.1,7,ok\nx,t4,allreduce,2,32,0.1,7,ok\n"
	file := written(t, rows)
	m := fitted(t, file)
	jobs, err := m.Jobs([]simulate.Job{{Name: "j", Application: "x", Work: 640, Workers: 2}}, nodes(), true, false)
	if err != nil {
		t.Fatal(err)
	}
	fifo, err := policy.New("fifo")
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Run(jobs, simulate.Settings{Cluster: nodes(), Policy: fifo, Truth: m.Truth, Rules: simulate.Rules{RestartSeconds: 30}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Jobs[0].JCT(); math.Abs(got-8) > 1e-9 {
		t.Errorf("640 samples at 640 samples/s took %g s, want 8 with the start", got)
	}
}

// TestJobsTellEachOther: what one job of an application has run is known to the
// next, unless each is alone.
func TestJobsTellEachOther(t *testing.T) {
	m := fitted(t, table(t))
	for _, alone := range []bool{false, true} {
		jobs, err := m.Jobs([]simulate.Job{{Name: "a", Application: "x", Work: 1}, {Name: "b", Application: "x", Work: 1}}, nodes(), false, alone)
		if err != nil {
			t.Fatal(err)
		}
		options := jobs[1].Learner.Options(nil)
		far := options[len(options)-1]
		if err := jobs[0].Learner.Observe(far.Config, 0); err != nil {
			t.Fatal(err)
		}
		truth, err := m.Truth(&jobs[0], far.Config, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := data.Estimate{Mean: truth, Lo: truth, Hi: truth}
		if alone {
			want = far.Answer.Goodput
		}
		if got := jobs[1].Learner.Options(nil)[len(options)-1].Answer.Goodput; got != want {
			t.Errorf("alone %t: the second job expects %+v, want %+v", alone, got, want)
		}
	}
}
