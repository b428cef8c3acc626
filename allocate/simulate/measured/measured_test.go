package measured

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
)

// write makes a folder of profiles.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const header = "job,gpu_type,mode,placement,local_batch,step_time_s,sync_time_s,status\n"

func tiny() map[string]string {
	return map[string]string{
		"allreduce/x-t4-placements.csv": header +
			"x,t4,allreduce,1,10,1.0,0.1,ok\nx,t4,allreduce,1,20,2.0,0.2,ok\nx,t4,allreduce,1-2,10,3.0,1.0,ok\nx,t4,allreduce,1-2,20,4.0,1.0,ok\nx,t4,allreduce,9,10,,,failed\n",
		"allreduce/x-t4-scalability.csv": header + "x,t4,allreduce,1-1-1-1-1-1,10,6.0,2.0,ok\nx,t4,allreduce,2-2-2-2-2-2,10,8.0,2.0,ok\n",
		"training/x-batch10.csv":         "progress,iteration,grad_sqr,grad_var\n100,100,1,10\n200,200,1,20\n",
		"training/x-batch40.csv":         "progress,iteration,grad_sqr,grad_var\n90,30,2,20\n210,60,2,40\n",
	}
}

func TestProfiles(t *testing.T) {
	files := tiny()
	files["training/lonely-batch8.csv"] = "progress,iteration,grad_sqr,grad_var\n1,1,1,1\n"
	p, err := Load(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.App("x")
	if err != nil {
		t.Fatal(err)
	}
	if a.Initial != 10 || a.Max != 40 || a.Epochs != 2 || a.Progress(1) != 90 || a.Progress(2) != 200 {
		t.Errorf("got %+v", a)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "lonely") {
		t.Errorf("warnings %q", p.Warnings)
	}
	if e0, e1, e2 := a.epochAt(0), a.epochAt(90), a.epochAt(200); e0 != 0 || e1 != 1 || e2 != 1 {
		t.Errorf("epochs %d, %d, %d", e0, e1, e2)
	}
	if sqr, v := a.Gradient(20, 1); math.Abs(sqr-4.0/3) > 1e-12 || math.Abs(v-80.0/3) > 1e-12 {
		t.Errorf("gradient %g, %g", sqr, v)
	}
	if n := a.Iterations(25, 0); n != 65 {
		t.Errorf("iterations %g, want halfway from 100 to 30", n)
	}
	if g := Gain(1, 10, 2); math.Abs(g-11.0/6) > 1e-12 {
		t.Errorf("gain %g", g)
	}
	if _, err := p.App("y"); err == nil || !strings.Contains(err.Error(), "there are x") {
		t.Errorf("error %v", err)
	}
}

func TestTimes(t *testing.T) {
	p, err := Load(write(t, tiny()))
	if err != nil {
		t.Fatal(err)
	}
	table := p.Apps["x"].Tables["t4"]
	for _, tt := range []struct {
		placement  string
		batch      float64
		step, sync float64
		why        string
	}{
		{"1", 15, 1.5, 0.15, "between two batches"},
		{"1", 25, 2.5, 0.25, "beyond the last"},
		{"2-1", 10, 3, 1, "a rotation of 1-2"},
		{"1-1-1-1-1", 10, 0, 0, "between node counts"},
		{"2-2-2-2-2-2-2-2", 10, 8, 2, "beyond the last node count"},
	} {
		pl, err := data.ParsePlacement(tt.placement)
		if err != nil {
			t.Fatal(err)
		}
		step, sync, err := table.Times(pl, tt.batch)
		if err != nil {
			t.Fatalf("%s: %v", tt.placement, err)
		}
		if tt.step == 0 { // 1 worker a node: 2 nodes have 1.5 a node and 3 s, 6 have 6 s
			tt.step, tt.sync = 3+3*0.75, 1+0.75
		}
		if math.Abs(step-tt.step) > 1e-9 || math.Abs(sync-tt.sync) > 1e-9 {
			t.Errorf("%s at %g (%s): %g s and %g s, want %g and %g", tt.placement, tt.batch, tt.why, step, sync, tt.step, tt.sync)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"training/x-batch40.csv", "progress,iteration,grad_sqr,grad_var\n90,30,2,20\n", "found 1 epochs, want 2"},
		{"training/x-batch40.csv", "progress,iteration,grad_sqr,grad_var\n90,30,2,20\n80,60,2,40\n", "no progress in epoch 1"},
		{"training/x-batchmany.csv", "progress\n1\n", "want a name <job>-batch<samples>.csv"},
		{"training/x-batch40.csv", "progress,iteration,grad_sqr\n90,30,2\n100,60,2\n", "grad_var in every row"},
		{"allreduce/x-t4-placements.csv", strings.Replace(header, "placement", "workers", 1) + "x,t4,allreduce,1,10,1,0,ok\n", "want both, to look speeds up by"},
		{"workloads/pollux/interpolation/osdi21-simplices-x.csv", "v0,v1,v2,v3\n0,1,2,99\n", "want an index into the 6 measured points"},
		{"workloads/pollux/interpolation/osdi21-nd-queries.csv", "application\nx\n", "want a column num_nodes"},
	} {
		files := tiny()
		files[tt.file] = tt.text
		if _, err := Load(write(t, files)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.file, err, tt.want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "placements.csv") {
		t.Errorf("empty folder: error %v", err)
	}
}

// TestSimplex: linear functions are reproduced inside, nothing is answered
// outside.
func TestSimplex(t *testing.T) {
	f := func(n, w, b float64) float64 { return 1 + 2*n + 3*w - b }
	var v [4]point
	for i, p := range [][3]float64{{5, 5, 4}, {6, 6, 4}, {6, 12, 4}, {6, 6, 12}} {
		v[i] = point{p[0], p[1], row{p[2], f(p[0], p[1], p[2]), 1}}
	}
	s, ok := newSimplex(v)
	if !ok {
		t.Fatal("no volume")
	}
	r, ok := s.at(5.8, 6.5, 5)
	if !ok || math.Abs(r.step-f(5.8, 6.5, 5)) > 1e-9 || math.Abs(r.sync-1) > 1e-9 {
		t.Errorf("got %+v, %t, want %g", r, ok, f(5.8, 6.5, 5))
	}
	if _, ok := s.at(4, 5, 4); ok {
		t.Error("a point outside is answered")
	}
	v[3] = v[2]
	if _, ok := newSimplex(v); ok {
		t.Error("a flat simplex is taken")
	}
}
