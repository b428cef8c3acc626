package measured

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/data"
)

// profiles has one application, measured on two types of which one is three
// times as fast.
func profiles(t *testing.T) *Profiles {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, rows []string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for gpuType, slow := range map[string]float64{"t4": 3, "a100": 1} {
		rows := []string{"job,gpu_type,mode,placement,local_batch,step_time_s,sync_time_s,status"}
		for _, p := range []string{"1", "2", "1-1", "1-2", "2-2"} {
			for _, b := range []float64{4, 8, 16} {
				sync := 0.02 * float64(len(p)-1)
				rows = append(rows, fmt.Sprintf("x,%s,allreduce,%s,%g,%g,%g,ok", gpuType, p, b, slow*(0.05+0.005*b)+sync, sync))
			}
		}
		write("allreduce/x-"+gpuType+"-placements.csv", rows)
	}
	for _, b := range []int{16, 32, 64} {
		write(fmt.Sprintf("training/x-batch%d.csv", b), []string{"progress,iteration,grad_sqr,grad_var", "1000,900,1,4", "2000,1800,0.5,8"})
	}
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func both() *data.Cluster {
	return &data.Cluster{Nodes: []data.Node{
		{Name: "s1", GPUType: "t4", GPUs: 2}, {Name: "s2", GPUType: "t4", GPUs: 2}, {Name: "f", GPUType: "a100", GPUs: 2},
	}}
}

func workload() []simulate.Job {
	var jobs []simulate.Job
	for i := range 6 {
		jobs = append(jobs, simulate.Job{Name: fmt.Sprint("x-", i), Application: "x", Submit: float64(40 * i), Workers: 1 + i%2, Batch: 32})
	}
	return jobs
}

// TestEveryPolicyFinishes: whatever decides, every job does all its work, at
// no more than the speed of the fastest allocation, and no GPU is used twice.
func TestEveryPolicyFinishes(t *testing.T) {
	p, c := profiles(t), both()
	work := p.Apps["x"].Progress(2) * p.Apps["x"].Initial
	for _, name := range policy.Names() {
		jobs, err := p.Jobs(workload(), c, policy.Gang(name), &History{})
		if err != nil {
			t.Fatal(err)
		}
		pol, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(jobs, simulate.Settings{Cluster: c, Policy: pol, Truth: p.Truth, Rules: simulate.Rules{Interval: 60, RestartSeconds: 30}, Unvalued: policy.Gang(name)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Summary.Utilization > 1+1e-9 {
			t.Errorf("%s: utilization %g", name, r.Summary.Utilization)
		}
		for _, o := range r.Jobs {
			if fastest := 2 * 16 / (0.05 + 0.005*16); o.JCT() < work/fastest {
				t.Errorf("%s: job %s does %g samples in %g s", name, o.Job, work, o.JCT())
			}
		}
	}
}

// TestBorrowsFromTheOtherType: a job seen on the slow type only is told that
// the fast one is faster.
func TestBorrowsFromTheOtherType(t *testing.T) {
	jobs, err := profiles(t).Jobs(workload()[:1], both(), false, &History{})
	if err != nil {
		t.Fatal(err)
	}
	l := jobs[0].Learner
	c := data.Config{GPUType: "t4", Workers: 1, Placement: data.Placement{1}, LocalBatch: 16}
	if err := l.Observe(c, 100); err != nil {
		t.Fatal(err)
	}
	speed := map[string]data.Estimate{}
	for _, o := range l.Options(&c) {
		if o.Config.Workers == 1 {
			speed[o.Config.GPUType] = o.Answer.Goodput
		}
	}
	slow, fast := speed["t4"], speed["a100"]
	if ratio := fast.Mean / slow.Mean; ratio < 2 || ratio > 4 {
		t.Errorf("a100 is thought to be %g times as fast, it is 3 times", ratio)
	}
	if left, want := l.Left(), 2000.0*16-100; left < 0.9*want || left > 1.1*want {
		t.Errorf("%g samples left, want about %g", left, want)
	}
}

// TestSmallBatchRuns: a gang whose batch leaves each worker less than was
// measured runs all the same.
func TestSmallBatchRuns(t *testing.T) {
	p, c := profiles(t), both()
	w := simulate.Job{Name: "j", Application: "x", Workers: 6, Batch: 16} // 3 each, of at least 4 measured
	c.Nodes[2].GPUType = "t4"
	jobs, err := p.Jobs([]simulate.Job{w}, c, true, &History{})
	if err != nil {
		t.Fatal(err)
	}
	srtf, err := policy.New("srtf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := simulate.Run(jobs, simulate.Settings{Cluster: c, Policy: srtf, Truth: p.Truth, Rules: simulate.Rules{Interval: 60}}); err != nil {
		t.Error(err)
	}
}

func TestJobsRefuses(t *testing.T) {
	p := profiles(t)
	src := data.Source{File: "w.csv", Line: 2}
	for _, tt := range []struct {
		job  simulate.Job
		gang bool
		want string
	}{
		{simulate.Job{Name: "j", Application: "y", Source: src}, false, `w.csv:2: job "j": no profile of application "y"; there are x`},
		{simulate.Job{Name: "j", Application: "x", Workers: 1, Batch: 9999, Source: src}, true, "w.csv:2:batch_size: found 1 workers and batch 9999"},
		{simulate.Job{Name: "j", Application: "x", Workers: 5, Batch: 32, Source: src}, true, "w.csv:2:application"},
		{simulate.Job{Name: "j", Application: "x", WorkersMin: 5, Workers: 5, Batch: 32, Source: src}, false, "w.csv:2:application"},
		{simulate.Job{Name: "j", Application: "x", WorkersMin: 2, Workers: 5, Logical: 5, Batch: 32, Source: src}, false,
			`w.csv:2:logical_workers: found 5 for job "j", want a number that a size of the job on the cluster divides`},
	} {
		if _, err := p.Jobs([]simulate.Job{tt.job}, both(), tt.gang, &History{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

// TestSizesOfLogicalWorkers: a job of three logical workers is offered three GPUs, though
// a node has two.
func TestSizesOfLogicalWorkers(t *testing.T) {
	jobs, err := profiles(t).Jobs([]simulate.Job{{Name: "j", Application: "x", Workers: 3, Logical: 3, Batch: 48}}, both(), false, &History{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range jobs[0].Learner.Options(nil) {
		got = append(got, o.Config.GPUType+" "+o.Config.Placement.String())
	}
	if want := "t4 1, t4 2-1, a100 1"; strings.Join(got, ", ") != want {
		t.Errorf("offered %q, want %q", got, want)
	}
}

// mixed watches what a policy hands out.
type mixed struct {
	allocate.Policy
	saw func(job string, c data.Config)
}

func (m mixed) Allocate(s allocate.State) (allocate.Assignment, error) {
	a, err := m.Policy.Allocate(s)
	for i, c := range a.Choice {
		if c >= 0 {
			m.saw(s.Jobs[i].Name, s.Jobs[i].Options[c].Config)
		}
	}
	return a, err
}

// TestBoundsHold: beside elastic jobs, a rigid one only ever gets the workers
// and the batch it asked for, a bounded one a size between its bounds, and
// one of two logical workers one or two with the batch of both, whatever the
// policy.
func TestBoundsHold(t *testing.T) {
	p, c := profiles(t), both()
	w := workload()
	w[0].Rigid, w[0].Workers, w[0].Batch = true, 3, 24
	w[1].WorkersMin, w[1].WorkersMax, w[1].Workers = 2, 3, 2
	w[2].Logical, w[2].Workers, w[2].Batch = 2, 2, 32
	for _, name := range policy.Names() {
		jobs, err := p.Jobs(w, c, policy.Gang(name), &History{})
		if err != nil {
			t.Fatal(err)
		}
		pol, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		saw := func(job string, c data.Config) {
			if job == w[0].Name && (c.Workers != 3 || c.GlobalBatch() != 24) || job == w[1].Name && (c.Workers < 2 || c.Workers > 3) ||
				job == w[2].Name && (2%c.Workers != 0 || c.GlobalBatch() != 32) {
				t.Errorf("%s: job %s gets %s", name, job, c)
			}
		}
		_, err = simulate.Run(jobs, simulate.Settings{Cluster: c, Policy: mixed{pol, saw}, Truth: p.Truth, Rules: simulate.Rules{Interval: 60, RestartSeconds: 30, StopFree: true, RescaleSeconds: 1}, Unvalued: policy.Gang(name)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHistoryIsShared: the second job of an application begins with the speeds
// and the work of the first, unless each is alone.
func TestHistoryIsShared(t *testing.T) {
	for _, alone := range []bool{false, true} {
		h := &History{}
		h.Alone = alone
		jobs, err := profiles(t).Jobs(workload()[:2], both(), false, h)
		if err != nil {
			t.Fatal(err)
		}
		first, second := jobs[0].Learner, jobs[1].Learner
		c := data.Config{GPUType: "t4", Workers: 1, Placement: data.Placement{1}, LocalBatch: 16}
		if err := first.Observe(c, 32000); err != nil {
			t.Fatal(err)
		}
		first.Completed()
		want, left := first.Options(nil)[0].Answer.Goodput.Mean, 32000.0
		if alone { // an unknown job does 1, for as long as nobody knows
			want, left = 1, 0
		}
		if got := second.Options(nil)[0].Answer.Goodput.Mean; got != want || second.Left() != left {
			t.Errorf("alone %t: the second job does %g samples/s with %g left, want %g and %g", alone, got, second.Left(), want, left)
		}
	}
}
