package simulate

import (
	"slices"
	"strings"
	"testing"
)

func TestReadPhilly(t *testing.T) {
	const log = `[
 {"status": "Killed", "vc": "a", "jobid": "j1", "submitted_time": "2017-10-03 14:00:00", "user": "u",
  "attempts": [{"start_time": "2017-10-03 14:10:00", "end_time": "2017-10-03 14:20:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]},
               {"start_time": "2017-10-03 15:00:00 PST", "end_time": "2017-10-03 15:05:00 PST", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
 {"status": "Pass", "vc": "b", "jobid": "j2", "submitted_time": "2017-10-03 13:00:00", "attempts": []},
 {"status": "Pass", "vc": "b", "jobid": "j3", "submitted_time": "2017-10-03 14:01:40",
  "attempts": [{"start_time": "2017-10-03 14:10:00", "end_time": "2017-10-03 14:10:30", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}]`
	jobs, warnings, err := ReadWorkload(strings.NewReader(log), "cluster_job_log")
	if len(warnings) != 1 || warnings[0] != "cluster_job_log: left out 1 of the jobs: they never ran on a GPU" {
		t.Errorf("warnings %q", warnings)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want the 2 that ran", len(jobs))
	}
	if j := jobs[0]; j.Fate != Cancelled || j.Workers != 3 || j.Work != 900 || j.Submit != 0 || j.Tenant != "a" || j.Believed() != 0 {
		t.Errorf("got %+v", j)
	}
	if j := jobs[1]; j.Fate != Completes || j.Workers != 1 || j.Work != 30 || j.Submit != 100 || j.Believed() != 30 {
		t.Errorf("got %+v", j)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"Killed", "Gone", `[0].status: found "Gone"`},
		{"2017-10-03 13:00:00", "soon", `[1].submitted_time: found "soon"`},
	} {
		if _, _, err := ReadWorkload(strings.NewReader(strings.Replace(log, tt.from, tt.to, 1)), "log"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

func TestReadAlibaba(t *testing.T) {
	const table = `j1,tensorflow,2,Terminated,1000.0,1600.0,600.0,30.0,50.0,T4
j1,ps,1,Terminated,990.0,1610.0,600.0,30.0,,T4
j2,worker,1,Failed,1100.0,1200.0,600.0,30.0,200.0,P100
j3,worker,1,Running,1100.0,,600.0,30.0,100.0,P100
`
	const header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
	plain, _, err := ReadWorkload(strings.NewReader(table), "pai_task_table.csv")
	if err != nil {
		t.Fatal(err)
	}
	jobs, warnings, err := ReadWorkload(strings.NewReader(header+table), "pai_task_table.csv")
	if err != nil || len(jobs) != len(plain) || jobs[1].Work != plain[1].Work {
		t.Fatalf("with a header: %+v, %v, want %+v", jobs, err, plain)
	}
	want := []string{"pai_task_table.csv: left out 1 of the jobs: they have no GPU, or had not ended",
		"pai_task_table.csv: gpu_type is not used: a job takes as long on any type as it did on its own"}
	if !slices.Equal(warnings, want) {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want the 2 that ended", len(jobs))
	}
	if j := jobs[0]; j.Workers != 1 || j.Work != 600 || j.Submit != 0 || j.Fate != Completes {
		t.Errorf("got %+v", j)
	}
	if j := jobs[1]; j.Workers != 2 || j.Work != 100 || j.Submit != 100 || j.Fate != Fails {
		t.Errorf("got %+v", j)
	}
	if _, _, err := ReadWorkload(strings.NewReader(strings.Replace(table, "1200.0", "late", 1)), "t.csv"); err == nil || !strings.Contains(err.Error(), `t.csv:3:end_time: found "late"`) {
		t.Errorf("error %v", err)
	}
}

// TestFates: a job that fails at half of its declared work ends there; one that
// is withdrawn while it waits frees nothing and does nothing.
func TestFates(t *testing.T) {
	c := cluster(1, 1)
	jobs, _, err := ReadWorkload(strings.NewReader("job,submit_s,workers,duration_s,status,ends_at,cancel_after_s\nfails,0,1,100,failed,0.5,\nwaits,1,1,10,,,20\nends,2,1,10,,,\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		jobs[i].Options = RigidOptions(jobs[i], c)
	}
	r, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, "fifo")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Outcome{{Fate: Fails, End: 50}, {Fate: Cancelled, End: 21}, {Fate: Completes, End: 60}} {
		if o := r.Jobs[i]; o.End != want.End || o.Fate != want.Fate {
			t.Errorf("job %s ends at %g, %s; want %g, %s", o.Job, o.End, o.Fate, want.End, want.Fate)
		}
	}
	if s := r.Summary; s.Useful != 1 || s.Wasted != 50.0/3600 {
		t.Errorf("summary %+v", s)
	}
}

// TestSurvival: with nothing known a job is taken at its word; if all others
// died at a quarter, one that is new is expected to do about a quarter, and one
// beyond it all of the rest.
func TestSurvival(t *testing.T) {
	var s survival
	if f := s.factor(0.3); f != 1 {
		t.Errorf("factor %g, want 1", f)
	}
	for range 99 {
		s.add(0.25)
	}
	if f := s.factor(0); f != (99*0.25+1)/100 {
		t.Errorf("factor %g, want %g", f, (99*0.25+1)/100)
	}
	if f := s.factor(0.5); f != 1 {
		t.Errorf("factor %g, want 1", f)
	}
}

func TestReadRubick(t *testing.T) {
	const table = "name,submission_time,duration,application,num_gpus,exec_plan,steps\nj,10,60,bert,8,zero-offload,600\nk,20,60,t5,12,341,7\n"
	jobs, _, err := ReadWorkload(strings.NewReader(table), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	if j := jobs[0]; j.Submit != 10 || j.Workers != 8 || j.TotalSteps != 600 || j.Layout.Sharding != "zero2" || j.Layout.Offload != "optimizer" || j.FixedLayout {
		t.Errorf("got %+v", j)
	}
	if l := jobs[1].Layout; l.PP != 3 || l.TP != 4 {
		t.Errorf("got %+v, want 3 stages of 4", l)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"zero-offload", "zero", `w.csv:2:exec_plan: found "zero"`},
		{"341", "342", "degrees whose product is the 12 GPUs"},
		{"steps\n", "fixed_layout\n", `w.csv:2:fixed_layout: found "600"`},
	} {
		if _, _, err := ReadWorkload(strings.NewReader(strings.Replace(table, tt.from, tt.to, 1)), "w.csv"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestHeliosIsRead: the columns and states of Helios (Hu et al., SC 2021), Slurm's. A job
// that failed, of which no more is declared, is of unknown length; one that did all of its
// work is not, and ends as declared.
func TestHeliosIsRead(t *testing.T) {
	const text = "job_id,user,gpu_num,state,submit_time,duration,ends_at\n" +
		"1,u1,8,COMPLETED,2020-04-01 00:00:10,100,1\n2,u2,4,NODE_FAIL,2020-04-01 00:00:00,50,\n3,u2,4,unconverged,2020-04-01 00:00:00,50,\n" +
		"4,u2,4,CANCELLED by 1000,2020-04-01 00:00:00,50,\n5,u3,0,COMPLETED,2020-04-01 00:00:00,50,\n6,u3,4,CANCELLED,2020-04-01 00:00:00,0,\n"
	jobs, warnings, err := ReadWorkload(strings.NewReader(text), "helios.csv")
	if err != nil || len(jobs) != 4 || !slices.Equal(warnings, []string{"helios.csv: left out 1 of the jobs: they have no GPU", "helios.csv: left out 1 of the jobs: they never ran on a GPU"}) {
		t.Fatal(err, warnings, len(jobs))
	}
	if j := jobs[0]; j.Workers != 8 || j.Submit != 10 || j.Tenant != "u1" || j.Believed() != 100 || j.Unfinished() {
		t.Errorf("%+v, want 100 s on 8 GPUs, completed", j)
	}
	if j := jobs[1]; j.Fate != Fails || j.Believed() != 0 || !j.Unfinished() {
		t.Errorf("%+v, want one that fails, its length unknown", j)
	}
	if j := jobs[3]; j.Fate != Cancelled {
		t.Errorf("%+v, want one that is cancelled", j)
	}
	if j := jobs[2]; j.Believed() != 50 {
		t.Errorf("believed to be of %g s, want the 50 that it does", j.Believed())
	}
}

// TestDurationsWithoutWorkers: they are of one GPU, which is said.
func TestDurationsWithoutWorkers(t *testing.T) {
	_, warnings, err := ReadWorkload(strings.NewReader("job,submit_s,duration_s\na,0,10\n"), "w.csv")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "no column workers") {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

func TestUnknownColumnsOfAWorkloadAreNamed(t *testing.T) {
	_, warnings, err := ReadWorkload(strings.NewReader("name,time,workers,workes_max,duration\na,1,4,8,10\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "workes_max") || !strings.Contains(warnings[0], "workers_max") {
		t.Errorf("warnings %q, want one that names workes_max and what it may mean", warnings)
	}
}

// TestFateWithoutShare: a job that fails at no stated share of its work is written as it is
// read.
func TestFateWithoutShare(t *testing.T) {
	var text strings.Builder
	if err := WriteWorkload(&text, []Job{{Name: "a", Workers: 1, Work: 10, Fate: Fails}}); err != nil {
		t.Fatal(err)
	}
	jobs, _, err := ReadWorkload(strings.NewReader(text.String()), "w.csv")
	if err != nil || jobs[0].Fate != Fails || jobs[0].EndsAt != 0 {
		t.Errorf("%q: %+v, %v", text.String(), jobs, err)
	}
}

// TestColumnTwice: of two names of a column the first is read, the other warned of.
func TestColumnTwice(t *testing.T) {
	jobs, warnings, err := ReadWorkload(strings.NewReader("time,name,num_gpus,num_gpu\n3,a,8,2\n"), "w.csv")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "ignored unknown columns: num_gpus") || jobs[0].Workers != 2 {
		t.Errorf("%+v, %q, %v; want 2 workers and a warning of num_gpus", jobs, warnings, err)
	}
}
