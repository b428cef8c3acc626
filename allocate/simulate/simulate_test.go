package simulate

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

func cluster(nodes, gpus int) *data.Cluster {
	c := &data.Cluster{}
	for i := range nodes {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%d", i+1), GPUType: "t4", GPUs: gpus})
	}
	return c
}

func rigid(c *data.Cluster, name string, submit float64, workers int, seconds float64) Job {
	j := Job{Name: name, Submit: submit, Workers: workers, Work: seconds}
	j.Options = RigidOptions(j, c)
	return j
}

func mustPolicy(t interface{ Fatal(...any) }, name string) allocate.Policy {
	p, err := policy.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHandComputed replays workloads whose ends can be computed by hand.
func TestHandComputed(t *testing.T) {
	c := cluster(1, 4)
	three := []Job{rigid(c, "a", 0, 3, 100), rigid(c, "b", 10, 2, 50), rigid(c, "c", 20, 1, 30)}
	tests := []struct {
		policy   string
		restart  float64
		ends     []float64
		restarts []int
	}{
		// b does not fit beside a and blocks c; both start when a ends.
		{"fifo", 0, []float64{100, 150, 130}, []int{0, 0, 0}},
		// c passes b.
		{"fifo-backfill", 0, []float64{100, 150, 50}, []int{0, 0, 0}},
		// At 10 b (50 s) beats a (90 s left), which is preempted; c joins b
		// at 20 and ends at 50; b ends at 60; a resumes with 90 s left.
		{"srtf", 0, []float64{150, 60, 50}, []int{1, 0, 0}},
		// The same with 5 s before the first step, which a has done 5 s of
		// work less when it is preempted, and 5 s to resume.
		{"srtf", 5, []float64{65 + 5 + 95, 65, 55}, []int{1, 0, 0}},
	}
	for _, tt := range tests {
		r, err := Run(three, Settings{Cluster: c, Policy: mustPolicy(t, tt.policy), Rules: Rules{RestartSeconds: tt.restart}})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range r.Jobs {
			if math.Abs(o.End-tt.ends[i]) > 1e-9 || o.Restarts != tt.restarts[i] {
				t.Errorf("%s, restart %g: job %s ends at %g with %d restarts, want %g and %d",
					tt.policy, tt.restart, o.Job, o.End, o.Restarts, tt.ends[i], tt.restarts[i])
			}
		}
	}
}

func TestSummary(t *testing.T) {
	s := Summarize([]Outcome{{Submit: 0, Start: 0, End: 100, GPUSeconds: 300}, {Submit: 10, Start: 100, End: 150, GPUSeconds: 100, Restarts: 2}}, 4)
	want := Summary{Jobs: 2, JCTMean: 120, JCTMedian: 120, JCTP99: 139.6, QueueMean: 45, Makespan: 150, GPUHours: 400.0 / 3600, Utilization: 400.0 / 600, Restarts: 2, Useful: 2}
	if math.Abs(s.JCTP99-want.JCTP99) > 1e-9 || math.Abs(s.Utilization-want.Utilization) > 1e-12 {
		t.Errorf("got %+v, want %+v", s, want)
	}
	s.JCTP99, s.Utilization, s.GPUHours = want.JCTP99, want.Utilization, want.GPUHours
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

// elastic is a job whose goodput on w workers is rate · w^p.
func elastic(c *data.Cluster, name string, submit, work, rate, p float64) Job {
	j := Job{Name: name, Submit: submit, Work: work, Workers: 1}
	for w := 1; w <= c.Slots(); w++ {
		g := rate * math.Pow(float64(w), p)
		cfg := data.Config{GPUType: "t4", Mode: data.AllReduce, Workers: w}
		e := data.Estimate{Mean: g, Lo: g, Hi: g}
		j.Options = append(j.Options, allocate.Option{Use: allocate.UseOf(cfg, data.Resources{}), Answer: predict.Answer{Config: cfg, Goodput: e, Throughput: e}})
	}
	return j
}

// TestConservation: whatever the policy, every job ends after it was
// submitted and no sooner than its fastest option allows, work done equals
// work given, and no more GPU time is handed out than the cluster has.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := cluster(2, rapid.IntRange(1, 4).Draw(rt, "gpus"))
		var jobs []Job
		for i := range rapid.IntRange(1, 6).Draw(rt, "jobs") {
			jobs = append(jobs, elastic(c, fmt.Sprint(i), float64(rapid.IntRange(0, 300).Draw(rt, "submit")),
				float64(rapid.IntRange(1, 1000).Draw(rt, "work")), 1, rapid.Float64Range(0.2, 1).Draw(rt, "power")))
		}
		name := rapid.SampledFrom(policy.Names()).Draw(rt, "policy")
		s := Settings{Cluster: c, Policy: mustPolicy(t, name), Rules: Rules{RestartSeconds: 10, Interval: float64(rapid.SampledFrom([]int{0, 60}).Draw(rt, "interval"))}}
		r, err := Run(jobs, s)
		if err != nil {
			rt.Fatal(err)
		}
		n := float64(c.Slots())
		for i, o := range r.Jobs {
			j := jobs[i]
			fastest := j.Options[len(j.Options)-1].Answer.Goodput.Mean
			if o.Start < o.Submit || o.JCT() < j.Work/fastest*(1-1e-9) {
				rt.Fatalf("%s: job %d: %+v is faster than possible", name, i, o)
			}
			// At most linear speed-up: work never exceeds GPU time.
			if o.GPUSeconds < j.Work*(1-1e-6) {
				rt.Fatalf("%s: job %d did %g work in %g GPU-seconds", name, i, j.Work, o.GPUSeconds)
			}
		}
		if r.Summary.Utilization > 1+1e-9 {
			rt.Fatalf("%s: utilization %g of %g GPUs", name, r.Summary.Utilization, n)
		}
		s.Policy = mustPolicy(t, name) // one serves one replay
		again, err := Run(jobs, s)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range r.Jobs {
			if r.Jobs[i] != again.Jobs[i] {
				rt.Fatalf("%s: two runs differ: %+v and %+v", name, r.Jobs[i], again.Jobs[i])
			}
		}
	})
}

// TestMarginalGainBeatsTheBaselines on a mix of short and long jobs that
// scale differently: the reason the package exists.
func TestMarginalGainBeatsTheBaselines(t *testing.T) {
	c := cluster(4, 4)
	var jobs []Job
	for i := range 24 {
		work := 600.0
		if i%4 == 0 {
			work = 20000
		}
		jobs = append(jobs, elastic(c, fmt.Sprint(i), float64(i*120), work, 1, 0.5+0.1*float64(i%5)))
	}
	jct := map[string]float64{}
	for _, name := range []string{"marginal-gain", "even", "fifo", "srtf"} {
		r, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, name), Rules: Rules{RestartSeconds: 30}})
		if err != nil {
			t.Fatal(err)
		}
		jct[name] = r.Summary.JCTMean
	}
	for _, name := range []string{"even", "fifo", "srtf"} {
		if jct["marginal-gain"] >= jct[name] {
			t.Errorf("mean JCT: marginal-gain %.0f s, %s %.0f s", jct["marginal-gain"], name, jct[name])
		}
	}
}

func TestStuckPolicyIsReported(t *testing.T) {
	c := cluster(1, 1)
	for _, interval := range []float64{0, 60} {
		_, err := Run([]Job{rigid(c, "x", 5, 1, 10)}, Settings{Cluster: c, Policy: idle{}, Rules: Rules{Interval: interval}})
		if err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("interval %g: error %v, want one that names job x", interval, err)
		}
	}
}

type idle struct{}

func (idle) Allocate(s allocate.State) (allocate.Assignment, error) {
	a := allocate.Assignment{Choice: make([]int, len(s.Jobs))}
	for i := range a.Choice {
		a.Choice[i] = -1
	}
	return a, nil
}

func TestReadWorkload(t *testing.T) {
	jobs, _, err := ReadWorkload(strings.NewReader("name,time,application,num_replicas,batch_size,samples\na-0,53,a,6,2048,1e6\nb-1,154.5,b,2,,5\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || jobs[0].Workers != 6 || jobs[0].Batch != 2048 || jobs[0].Work != 1e6 || jobs[1].Submit != 154.5 || jobs[1].Source.Line != 3 {
		t.Errorf("got %+v", jobs)
	}
	jobs, _, err = ReadWorkload(strings.NewReader("name,time\na,2026-01-01 10:30:00\nb,2026-01-01T10:00:00Z\n"), "w.csv")
	if err != nil || len(jobs) != 2 || jobs[0].Submit != 1800 || jobs[1].Submit != 0 {
		t.Errorf("of clock times: %+v, %v; want half an hour and 0", jobs, err)
	}
	for _, tt := range []struct{ in, want string }{
		{"", "w.csv: found an empty file"},
		{"a,b\n", "w.csv:1:submit_s: found columns a, b, want a column submit_s or time"},
		{"name,time\nx,soon\n", `w.csv:2:submit_s: found "soon", want seconds ≥ 0`},
		{"name,time,workers\nx,,1\n", `w.csv:2:submit_s: found nothing, want seconds ≥ 0`},
		{"name,time,weight\nx,1,0\n", `w.csv:2:weight: found "0", want a number > 0`},
		{"name,time,ends_at\nx,1,0\n", `w.csv:2:ends_at: found "0", want a share of the declared work, above 0 and up to 1`},
		{"name,time,duration,ends_at,declared\nx,1,100,.5,40\n", `w.csv:2:declared: found "40", want the work of the row, 100, or nothing, as ends_at is a share of that`},
		{"name,time,duration\nx,1,-5\n", `w.csv:2:duration: found "-5", want seconds ≥ 0`},
		{"name,time,cancel_after_s\nx,1,0\n", `w.csv:2:cancel_after_s: found "0", want seconds > 0`},
		{"name,time\nx,NaN\n", `w.csv:2:submit_s: found "NaN"`},
		{"name,time\nx,1\ny,2026-01-01 10:00:00\n", `w.csv:3:submit_s: found "2026-01-01 10:00:00", want times such as`},
		{"name,time\nx,2026-01-01 10:00:00\ny,1\n", `w.csv:3:submit_s: found "1", want times such as`},
		{"name,time,workers\nx,1,1.5\n", `w.csv:2:workers: found "1.5"`},
		{"name,time\nx,1\nx,2\n", `w.csv:3:job: found "x", as in line 2`},
		{"name,time\nx\n", "found 1 cells, want 2"},
	} {
		if _, _, err := ReadWorkload(strings.NewReader(tt.in), "w.csv"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

// A workload separated by tabs is no Gavel trace, however many columns it has.
func TestReadWorkloadOfTabs(t *testing.T) {
	for _, submit := range []string{"submit_s", "Submit_S", "\ufeffsubmit_s", `"submit_s"`} {
		text := strings.ReplaceAll(submit+",job,application,workers,duration_s,tenant,weight\n5,a,bert,2,60,x,3\n", ",", "\t")
		jobs, warnings, err := ReadWorkload(strings.NewReader(text), "w.tsv")
		if err != nil || len(warnings) > 0 || len(jobs) != 1 || jobs[0].Submit != 5 || jobs[0].Workers != 2 || jobs[0].Tenant != "x" {
			t.Errorf("%q: read %+v (%v, %v)", submit, jobs, warnings, err)
		}
	}
}

func TestReadGavel(t *testing.T) {
	line := "ResNet-18 (batch size 64)\tpython main.py\tdir\t--steps\t0\t100\t2\t1\t-1\t3.5"
	jobs, _, err := ReadWorkload(strings.NewReader(line+"\n\n"+line), "g.trace")
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || jobs[0].Work != 100 || jobs[0].Workers != 2 || jobs[0].Batch != 64 || jobs[1].Submit != 3.5 || jobs[1].Source.Line != 3 {
		t.Errorf("got %+v", jobs)
	}
	for _, tt := range []struct{ in, want string }{
		{strings.Replace(line, "\t100\t", "\tmany\t", 1), `g.trace:1:total_steps: found "many", want steps > 0`},
		{strings.Replace(line, "\t2\t", "\t0\t", 1), `g.trace:1:scale_factor: found "0"`},
		{line + "\tmore", "g.trace:1: found 11 cells, want 10, the columns of a Gavel trace"},
	} {
		if _, _, err := ReadWorkload(strings.NewReader(tt.in), "g.trace"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

func FuzzReadWorkload(f *testing.F) {
	f.Add("name,time,application,num_replicas,batch_size\na,1,x,2,64\n")
	f.Add("job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,vgg19,164,30\n")
	f.Add("submit_time_s,gpus,duration_s,status,vc\n0,8,2240194,,7f04ca\n")
	f.Add("\ufefftime\n1e308\n")
	f.Add("j1,tensorflow,2,Terminated,1000.0,1600.0,600.0,30.0,50.0,T4\n")
	f.Add("job,submit_s,workers,duration_s,status,ends_at\na,0,1,100,failed,0.5\n")
	f.Add(`[{"status":"Pass","submitted_time":"2017-10-03 14:00:00","attempts":[{"start_time":"2017-10-03 14:10:00","end_time":"2017-10-03 14:20:00","detail":[{"gpus":["g"]}]}]}]`)
	f.Add("ResNet-18 (batch size 64)\tpython main.py\tdir\t--steps\t0\t100\t2\t1\t-1\t3.5\n")
	f.Fuzz(func(t *testing.T, in string) {
		jobs, _, err := ReadWorkload(strings.NewReader(in), "fuzz.csv")
		if err != nil {
			return
		}
		for _, j := range jobs {
			if !(j.Submit >= 0) || math.IsInf(j.Submit, 0) || !(j.Work >= 0) || j.Workers < 0 || j.Name == "" || j.Source.Line < 1 {
				t.Fatalf("accepted %+v", j)
			}
		}
	})
}

func TestWriteJobs(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJobs(&b, []Replayed{{Policy: "fifo", Workload: "w", Outcomes: []Outcome{{Job: "a,b", Submit: 1, Start: 2, End: 3.5, Restarts: 1}}}}); err != nil {
		t.Fatal(err)
	}
	want := "policy,workload,job,submit_s,start_s,end_s,jct_s,restarts,fate,gpu_seconds\nfifo,w,\"a,b\",1,2,3.5,2.5,1,completed,0\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func ExampleRun() {
	c := &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "t4", GPUs: 4}}}
	jobs := []Job{{Name: "first", Workers: 3, Work: 100}, {Name: "second", Submit: 10, Workers: 2, Work: 50}}
	for i := range jobs {
		jobs[i].Options = RigidOptions(jobs[i], c)
	}
	fifo, err := policy.New("fifo")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := Run(jobs, Settings{Cluster: c, Policy: fifo})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range r.Jobs {
		fmt.Printf("%s: starts %g, ends %g\n", o.Job, o.Start, o.End)
	}
	fmt.Printf("mean JCT %g s, utilization %.2f\n", r.Summary.JCTMean, r.Summary.Utilization)
	// Output:
	// first: starts 0, ends 100
	// second: starts 100, ends 150
	// mean JCT 120 s, utilization 0.67
}

// Steps alone are no work where nothing says how large one is.
func TestStepsNeedModels(t *testing.T) {
	fifo, err := policy.New("fifo")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run([]Job{{Name: "j", TotalSteps: 100, Workers: 1}}, Settings{Cluster: cluster(1, 4), Policy: fifo})
	if err == nil || !strings.Contains(err.Error(), "steps count with --models") {
		t.Errorf("error %v", err)
	}
}
