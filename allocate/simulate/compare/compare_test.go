package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
	"knee/data"
	"knee/fit/interference"
)

func small() Case {
	return Case{Name: "small", Jobs: []simulate.Job{
		{Name: "wide", Workers: 3, Work: 100, Seconds: true}, {Name: "late", Submit: 10, Workers: 2, Work: 50, Seconds: true}, {Name: "little", Submit: 20, Workers: 1, Work: 30, Seconds: true},
	}, Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: 4}}}}
}

// TestRunKeepsOrder: rows are by case and policy, however many run at a time,
// and progress ends at one.
func TestRunKeepsOrder(t *testing.T) {
	second := small().AtLoad(2)
	if second.Jobs[1].Submit != 5 || small().Jobs[1].Submit != 10 {
		t.Errorf("at twice the load the second job arrives after %g s, want 5", second.Jobs[1].Submit)
	}
	for _, parallel := range []int{1, 8} {
		last := 0.0
		rows, err := Run(t.Context(), Settings{
			Cases:    []Case{small(), second},
			Policies: []string{"fifo", "srtf", "even"}, Parallel: parallel, Progress: func(x float64) { last = x },
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range rows {
			names = append(names, r.Policy+" "+r.Workload)
		}
		want := "fifo small, srtf small, even small, fifo small@load=2, srtf small@load=2, even small@load=2"
		if got := strings.Join(names, ", "); got != want || last != 1 {
			t.Errorf("%s, progress %g; want %s", got, last, want)
		}
		if math.Abs(rows[0].JCTMean-350.0/3) > 1e-9 || rows[0].FTFMean <= 0 {
			t.Errorf("fifo: %+v", rows[0])
		}
	}
}

// TestFailuresLast: a job of a hundred days meets ten times as many failures as one of
// ten.
func TestFailuresLast(t *testing.T) {
	restarts := func(days float64) int {
		rows, err := Run(t.Context(), Settings{Policies: []string{"fifo"}, NodeMTBF: 43200, NodeRepair: 3600, Rules: simulate.Rules{RestartSeconds: 600}, Seed: 1,
			Cases: []Case{{Name: "long", Jobs: []simulate.Job{{Name: "llm", Workers: 4, Work: days * 86400, Seconds: true}}, Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: 4}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return rows[0].Restarts
	}
	if few, many := restarts(10), restarts(100); few < 10 || many < 7*few {
		t.Errorf("%d restarts in ten days, %d in a hundred", few, many)
	}
}

// TestGavelSharesTime: four equal jobs of ten hours on one GPU get a quarter of
// it each, in rounds of 360 s, and so all end within the last four rounds.
func TestGavelSharesTime(t *testing.T) {
	c := Case{Name: "equal", Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "k80", GPUs: 1}}}}
	for i := range 4 {
		c.Jobs = append(c.Jobs, simulate.Job{Name: fmt.Sprint(i), Workers: 1, Work: 36000, Seconds: true})
	}
	rows, err := Run(t.Context(), Settings{Cases: []Case{c}, Policies: []string{"gavel-maxmin", "gavel-ftf", "gavel-makespan"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		for _, o := range r.Outcomes {
			if o.End < 144000-4*360 || o.End > 144000 {
				t.Errorf("%s: job %s ends at %g s, want 142,560 to 144,000", r.Policy, o.Job, o.End)
			}
		}
	}
}

// A job that gives samples and their duration takes that long where nothing says how fast
// samples are; samples alone are then refused.
func TestSamplesAndTheirDuration(t *testing.T) {
	for _, semantics := range []string{Native, Tiresias} {
		for cells, want := range map[string]string{"60,5000,": "", ",5000,": "w.csv:2:duration_s: found none beside samples", "120,5000,0.5": ""} {
			if semantics == Tiresias && strings.HasSuffix(cells, ".5") {
				continue // it knows no such ends
			}
			jobs, _, err := simulate.ReadWorkload(strings.NewReader("job,submit_s,workers,duration_s,samples,ends_at\na,0,2,"+cells+"\n"), "w.csv")
			if err != nil {
				t.Fatal(err)
			}
			c := small()
			c.Jobs = jobs
			rows, err := Run(t.Context(), Settings{Cases: []Case{c}, Policies: []string{"fifo"}, Semantics: semantics})
			if want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: error %v, want %s", semantics, cells, err, want)
				}
			} else if err != nil || rows[0].Makespan != 60 || math.Abs(rows[0].SlowdownMean-1) > 1e-9 {
				t.Errorf("%s, %s: %+v, error %v, want 60 s and no slowdown", semantics, cells, rows, err)
			}
		}
	}
}

// TestUsage: by all rules the GPUs in use, added up over time, are what the
// jobs held, and none are in use at the end.
func TestUsage(t *testing.T) {
	for _, semantics := range []string{Native, Tiresias} {
		rows, err := Run(t.Context(), Settings{Cases: []Case{small()}, Policies: []string{"fifo", "srtf"}, Semantics: semantics, Usage: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			var held float64
			for i, u := range r.History[1:] {
				held += float64(r.History[i].GPUs) * (u.At - r.History[i].At)
			}
			last := r.History[len(r.History)-1]
			if math.Abs(held-3600*r.GPUHours) > 1e-6 || last.GPUs+last.Running+last.Waiting != 0 {
				t.Errorf("%s, %s: %g GPU-seconds in use, jobs held %g; at the end %+v", semantics, r.Policy, held, 3600*r.GPUHours, last)
			}
		}
		if first := rows[0].History; len(first) < 3 || first[1] != (simulate.Usage{At: 10, GPUs: 3, Running: 1, Waiting: 1}) {
			t.Errorf("%s: with two of the jobs there, %+v are in use", semantics, first)
		}
	}
	rows, err := Run(t.Context(), Settings{Cases: []Case{small()}, Policies: []string{"fifo"}})
	if err != nil || rows[0].History != nil {
		t.Errorf("nobody asked for %v (%v)", rows[0].History, err)
	}
}

// TestRunNamesWhatFailed: the policy and the workload.
func TestRunNamesWhatFailed(t *testing.T) {
	c := small()
	c.Jobs[0].Workers = 9
	for _, semantics := range []string{Native, Tiresias} {
		_, err := Run(t.Context(), Settings{Cases: []Case{c}, Policies: []string{"fifo"}, Semantics: semantics})
		var in *data.InputError
		if err == nil || !strings.Contains(err.Error(), "policy fifo, workload small") || !errors.As(err, &in) {
			t.Errorf("%s: error %v", semantics, err)
		}
	}
	for _, tt := range []struct {
		s    Settings
		want string
	}{
		{Settings{Cases: []Case{small()}}, "nothing to compare"},
		{Settings{Cases: []Case{small()}, Policies: []string{"fifo", "fifo"}}, "found fifo twice"},
		{Settings{Cases: []Case{{Name: "none"}}, Policies: []string{"fifo"}}, "found no jobs"},
		{Settings{Cases: []Case{small()}, Policies: []string{"fifo"}, Semantics: Pollux}, "want profiles"},
		{Settings{Cases: []Case{small()}, Policies: []string{"knee"}, Semantics: Tiresias}, "dlas"},
	} {
		_, err := Run(t.Context(), tt.s)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
		if in := (*data.InputError)(nil); len(tt.s.Policies) != 1 && !errors.As(err, &in) {
			t.Errorf("error %v, want an input error", err)
		}
	}
}

// TestRunCanBeCancelled: no replay goes on once nobody wants it.
func TestRunCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Settings{Cases: []Case{small()}, Policies: []string{"fifo"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func ExampleRun() {
	rows, err := Run(context.Background(), Settings{Cases: []Case{small()}, Policies: []string{"fifo", "srtf"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		fmt.Printf("%s: mean %.1f s, %d restarts\n", r.Policy, r.JCTMean, r.Restarts)
	}
	// Output:
	// fifo: mean 116.7 s, 0 restarts
	// srtf: mean 76.7 s, 1 restarts
}

// TestPairsInParallel: replays that share pairs, one of which is predicted, give
// the same at any number at a time.
func TestPairsInParallel(t *testing.T) {
	var jobs []simulate.Job
	for i := range 12 {
		jobs = append(jobs, simulate.Job{Name: fmt.Sprint(i), Application: string(rune('a' + i%3)), Submit: float64(40 * i), Workers: 1, Work: 900, Seconds: true, Opportunistic: i%2 == 1})
	}
	c := &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: 2}}}
	pairs := simulate.NewPairs([]interference.Row{{Job: "a", Beside: "b", GPUType: "t4", Share: .8}, {Job: "b", Beside: "a", GPUType: "t4", Share: .7}}, nil, 1)
	var ends [2]string
	for n, parallel := range []int{1, 8} {
		rows, err := Run(t.Context(), Settings{Cases: []Case{{Name: "w", Jobs: jobs, Cluster: c}}, Policies: []string{"antman", "gandiva", "gavel-maxmin", "gavel-ftf"}, Rules: simulate.Rules{Packed: pairs}, Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			ends[n] += fmt.Sprintln(r.Policy, r.Outcomes)
		}
	}
	if ends[0] != ends[1] {
		t.Errorf("one at a time:\n%s\neight:\n%s", ends[0], ends[1])
	}
}

func TestFinishTimeFairness(t *testing.T) {
	// Two jobs share 4 GPUs from 0 to 100; then the second is alone.
	o := []simulate.Outcome{{Submit: 0, End: 100}, {Submit: 0, End: 200}}
	var shares []float64
	f, err := overAlone(o, equalShares(o, 4), func(i int, gpus float64) (float64, error) { shares = append(shares, gpus); return 50, nil })
	if err != nil {
		t.Fatal(err)
	}
	// On average there are 2 and 1.5 jobs: shares of 2 and 2.67 GPUs.
	if f[0] != 2 || f[1] != 4 || shares[0] != 2 || math.Abs(shares[1]-4/1.5) > 1e-9 {
		t.Errorf("fairness %v on shares %v", f, shares)
	}

	// Ten jobs of 100 s on one GPU, one after another: job k ends at 100·k, and 10 − (k−1)/2
	// jobs are present on average.
	o = nil
	for k := 1; k <= 10; k++ {
		o = append(o, simulate.Outcome{End: float64(100 * k)})
	}
	o = append(o, simulate.Outcome{Submit: 1000, End: 1010, Fate: simulate.Cancelled})
	f, err = overAlone(o, equalShares(o, 1), func(_ int, gpus float64) (float64, error) { return 100 / gpus, nil })
	for k := 1; k <= 10; k++ {
		if want := float64(k) / (10 - float64(k-1)/2); err != nil || math.Abs(f[k-1]-want) > 1e-9 {
			t.Errorf("fairness of job %d: %g, error %v, want %g", k, f[k-1], err, want)
		}
	}
	if f[10] != 0 {
		t.Errorf("fairness of a cancelled job: %g", f[10])
	}
	if all := fairnessOf([]float64{0, 1 + 1e-15, .5}, []float64{0, 2}); all.Worse != 0 || math.Abs(all.FTFMean-.75) > 1e-9 || all.SlowdownMean != 2 {
		t.Errorf("of jobs of which one is not known: %+v", all)
	}
	if all := fairnessOf(slices.Repeat([]float64{2}, 13), nil); all.Worse != 1 {
		t.Errorf("%.17g of 13 jobs of which all are worse off, want 1", all.Worse)
	}
}

// TestFairnessLeavesOutDrainedNodes: alone a job runs on the GPUs in use, also where those
// of the first type are all drained.
func TestFairnessLeavesOutDrainedNodes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"allreduce/x-a100-placements.csv": "job,gpu_type,mode,placement,local_batch,step_time_s,sync_time_s,status\nx,a100,allreduce,1,16,0.1,0,ok\nx,a100,allreduce,1,32,0.2,0,ok\n",
		"allreduce/x-t4-placements.csv":   "job,gpu_type,mode,placement,local_batch,step_time_s,sync_time_s,status\nx,t4,allreduce,1,16,0.3,0,ok\nx,t4,allreduce,1,32,0.6,0,ok\n",
		"training/x-batch16.csv":          "progress,iteration,grad_sqr,grad_var\n1000,1000,1,4\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := measured.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 1, Drained: true}, {Name: "b", GPUType: "a100", GPUs: 1}}}
	jobs := []simulate.Job{{Name: "j", Application: "x", Workers: 1}}
	rows, err := Run(t.Context(), Settings{Cases: []Case{{Name: "w", Jobs: jobs, Cluster: cluster}}, Policies: []string{"fifo"}, Profiles: p, Rules: simulate.Rules{RestartSeconds: 10}})
	if err != nil || math.Abs(rows[0].FTFMean-1.1) > 1e-9 {
		t.Errorf("%+v, %v: want the 100 s alone on the a100, and the 10 s of the start", rows, err)
	}
}

// A job of one GPU type runs on no other, a type that the cluster lacks is refused, and so
// are such jobs under published rules.
func TestGPUTypeOfAJob(t *testing.T) {
	cluster := &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 1}, {Name: "b", GPUType: "v100", GPUs: 1}}}
	const table = "job,submit_s,workers,duration_s,gpu_type\none,0,1,100,V100\ntwo,0,1,100,v100\nthree,0,1,100,t4\n"
	jobs, warnings, err := simulate.ReadWorkload(strings.NewReader(table), "w.csv")
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	s := Settings{Cases: []Case{{Name: "w", Jobs: jobs, Cluster: cluster}}, Policies: []string{"fifo-backfill"}}
	rows, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{100, 200, 100} {
		if o := rows[0].Outcomes[i]; o.End != want {
			t.Errorf("job %s ends at %g, want %g", o.Job, o.End, want)
		}
	}
	s.Semantics, s.Policies = Tiresias, []string{"fjf"}
	if _, err := Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), "or the GPU type") {
		t.Errorf("under the rules of Tiresias: %v", err)
	}
	jobs[0].GPUType, s.Semantics, s.Policies = "h100", "", []string{"fifo"}
	if _, err := Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), `w.csv:2:gpu_type: found "h100" for job "one", want a type of the cluster: t4, v100`) {
		t.Errorf("a type that the cluster lacks: %v", err)
	}
}
