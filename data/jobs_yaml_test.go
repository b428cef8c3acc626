package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
)

const fullJobs = `tenants:
  - {name: lab, weight: 2, quota: {A100: 8}}
  - {name: vision, parent: lab}
jobs:
  - name: resnet
    id: 4711
    namespace: team-a
    user: ann
    model: models/resnet.json
    remaining: {steps: 90000}
    workers: {min: 1, max: 32}
    logical_workers: 32
    opportunistic: true
    ps: {min: 0, max: 4}
    modes: [allreduce, ps-sync]
    gpu_types: [a100, t4]
    batch: {initial: 256, max: 8192, adapt: true}
    weight: 2
    deadline: 6h
    current: {gpu_type: t4, placement: "4-4", nodes: "t[1-2]", local_batch: 32, accum_steps: 1}
    tenant: vision
    submitted: 2026-05-01T12:00:00+02:00
    requested: 4
    priority: -1
    history: {gpu_seconds: 0, seconds: 60, progress: 0.5, restarts: 0, by_type: {T4: 240}}
    restart_seconds: 30
    resources: {worker: {cpus: 8, memory: 64Gi}, ps: {cpus: 2}}
    template: {image: "nvcr.io/pytorch:24.01", command: [python, train.py], env: {A: "1"}, time_limit: 1-00:00:00, pod: {spec: {serviceAccountName: t, priority: 5}}}
  - {name: bert, model: bert.json, remaining: {target_loss: 0}, current: {gpu_type: cpu, mode: ps-async, ps: 2, placement: 3, nodes: [n7], ps_nodes: [n7, n7]}, deadline: 2026-05-02T00:00:00Z}
  - {name: notebook, current: {gpu_type: t4, placement: 1, nodes: [t1]}}
`

func TestReadJobs(t *testing.T) {
	got, err := data.ReadJobs(strings.NewReader(fullJobs), "jobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	zero, minute, half, none := 0.0, 60.0, 0.5, 0
	tenants := []data.Tenant{{Name: "lab", Weight: 2, Quota: map[string]int{"a100": 8}}, {Name: "vision", Weight: 1, Parent: "lab"}}
	want := []data.Job{
		{
			Name: "resnet", ID: "4711", Namespace: "team-a", User: "ann", Model: "models/resnet.json", Remaining: data.Remaining{Steps: 90000},
			Workers: data.IntRange{Min: 1, Max: 32}, LogicalWorkers: 32, Opportunistic: true, PS: data.IntRange{Max: 4},
			Modes: []data.Mode{data.AllReduce, data.PSSync}, GPUTypes: []string{"a100", "t4"},
			Batch: data.Batch{Initial: 256, Max: 8192, Adapt: true}, Weight: 2, Deadline: 6 * time.Hour,
			Current: &data.Current{GPUType: "t4", Mode: data.AllReduce, Placement: data.Placement{4, 4}, LocalBatch: 32, AccumSteps: 1,
				Nodes: []string{"t1", "t2"}},
			RestartSeconds: 30, RestartGiven: true, Tenant: "vision", Requested: 4, Priority: -1, Submitted: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
			History:   &data.History{GPUSeconds: &zero, Seconds: &minute, Progress: &half, Restarts: &none, ByType: map[string]float64{"t4": 240}},
			Resources: data.Resources{Worker: data.Need{CPUs: 8, Memory: 64 << 30}, PS: data.Need{CPUs: 2}},
			Template: data.Template{Image: "nvcr.io/pytorch:24.01", Command: []string{"python", "train.py"}, Env: map[string]string{"A": "1"},
				TimeLimit: "1-00:00:00", Pod: map[string]any{"spec": map[string]any{"serviceAccountName": "t", "priority": 5}}},
		},
		{
			Name: "bert", Model: "bert.json", Remaining: data.Remaining{HasTarget: true}, Weight: 1,
			Current:    &data.Current{GPUType: "cpu", Mode: data.PSAsync, PS: 2, Placement: data.Placement{3}, Nodes: []string{"n7"}, PSNodes: []string{"n7", "n7"}},
			DeadlineAt: time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC),
		},
		{Name: "notebook", Weight: 1, Current: &data.Current{GPUType: "t4", Mode: data.AllReduce, Placement: data.Placement{1}, Nodes: []string{"t1"}}},
	}
	if diff := cmp.Diff(&data.JobsFile{Tenants: tenants, Jobs: want}, got, sameData()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := got.Jobs[1].Source.String(); at != "jobs.yaml:29:jobs[1]" {
		t.Errorf("source of a job: %s", at)
	}
	checkRoundTrip(t, got, data.WriteJobs, data.ReadJobs)
	checkRoundTrip(t, &data.JobsFile{}, data.WriteJobs, data.ReadJobs)
}

func TestReadJobsRefuses(t *testing.T) {
	job := func(s string) string { return "jobs:\n- name: a\n  model: m\n  " + s + "\n" }
	left := func(s string) string { return job("remaining: {steps: 1}\n  " + s) }
	const ways = "one of {steps: …}, {target_loss: …}, {epochs: …, dataset: …}, {seconds: …}"
	checkFailures(t, []failure{
		{"no jobs", "{}\n", "f:1:jobs: found nothing, want a list of jobs"},
		{"no name", "jobs: [{model: m}]\n", "f:1:jobs[0].name: found nothing, want the name of the job"},
		{"manifest", "apiVersion: v1\n", "f:1:apiVersion: found an unknown key of a Kubernetes manifest, whose pod template goes to template: {pod: …} of jobs.yaml, want one of tenants, jobs"},
		{"no model", "jobs: [{name: m}]\n", "f:1:jobs[0].model: found nothing, want the path of its model, as knee fit writes it, unless the job runs (current) and stays as it is"},
		{"twice", "jobs:\n- {name: a, model: m, remaining: {steps: 1}}\n- {name: a, model: m, remaining: {steps: 1}}\n",
			`f:3:jobs[1].name: found "a", which line 2 names too, want each job once`},
		{"nothing left", job("weight: 1"), "f:2:jobs[0].remaining: found no amount of work, want " + ways},
		{"two ways", job("remaining: {steps: 1, seconds: 2}"), "f:4:jobs[0].remaining: found steps and seconds, want " + ways},
		{"epochs", job("remaining: {epochs: 1}"), "f:4:jobs[0].remaining: found only one of epochs and dataset, want both; dataset is the number of samples of an epoch"},
		{"steps", job("remaining: {steps: 0}"), `f:4:jobs[0].remaining.steps: found "0", want optimizer steps > 0`},
		{"workers", left("workers: {min: 4, max: 2}"), "f:5:jobs[0].workers.max: found 2, want at least min, 4"},
		{"modes", left("modes: [sync]"), `f:5:jobs[0].modes: found "sync", want allreduce, ps-sync or ps-async`},
		{"types", left("gpu_types: [t4, t4]"), `f:5:jobs[0].gpu_types: found "t4" twice, want each value once`},
		{"weight", left("weight: 0"), `f:5:jobs[0].weight: found "0", want a number > 0`},
		{"deadline", left("deadline: -1h"), `f:5:jobs[0].deadline: found "-1h", want a time > 0 such as 90s, 2h30m, 1d12h or plain seconds`},
		{"deadline on", left("deadline: 2026-05-01"), `f:5:jobs[0].deadline: found "2026-05-01", want a point in time such as 2026-05-01T12:00:00Z`},
		{"deadline at", left("deadline: 2026-05-01 12:00"), `f:5:jobs[0].deadline: found "2026-05-01 12:00", want a point in time such as 2026-05-01T12:00:00Z`},
		{"progress", left("history: {progress: 40}"), "f:5:jobs[0].history.progress: found \"40\", want a share of the work from 0 to 1"},
		{"parent", "tenants: [{name: a, parent: b}]\njobs: []\n", `f:1:tenants[0].parent: found "b", want the name of a tenant in the list`},
		{"circle", "tenants: [{name: a, parent: b}, {name: b, parent: a}]\njobs: []\n", "f:1:tenants[0].parent: found a circle of parents, want a tenant without a parent above it"},
		{"restart", left("restart_seconds: nan"), `f:5:jobs[0].restart_seconds: found "nan", want seconds ≥ 0`},
		{"placement", left("current: {gpu_type: t4}"), `f:5:jobs[0].current.placement: found nothing, want workers per node, such as "4-4-2"`},
		{"placement as a list", left("current: {gpu_type: t4, placement: [4, 4]}"), `f:5:jobs[0].current.placement: found a list, want workers per node, such as "4-4-2"`},
		{"ps_nodes", left("current: {gpu_type: t4, mode: ps-sync, placement: 4, nodes: [n1], ps: 2, ps_nodes: [n1]}"), "f:5:jobs[0].current.ps_nodes: found 1 nodes, want 2, one for each parameter server"},
		{"nodes", left("current: {gpu_type: t4, placement: 4-4, nodes: [n1]}"), "f:5:jobs[0].current.nodes: found 1 nodes, want 2, one for each number of the placement"},
		{"node twice", left("nodes: [n1, n1]"), `f:5:jobs[0].nodes: found "n1" twice, want each value once`},
		{"current node twice", left("current: {gpu_type: t4, placement: 4-4, nodes: [n1, n1]}"), `f:5:jobs[0].current.nodes: found "n1" twice, want each value once`},
		{"ps", left("current: {gpu_type: t4, placement: 4, ps: 1}"), "f:5:jobs[0].current.mode: found nothing, want ps-sync or ps-async, since ps is 1"},
		{"template", left("template: {commmand: [a]}"),
			`f:5:jobs[0].template.commmand: found an unknown key (did you mean "command"?), want one of image, command, env, namespace, partition, account, time_limit, pod`},
		{"memory", left("resources: {ps: {memory: 1e9}}"), `f:5:jobs[0].resources.ps.memory: found "1e9", want bytes ≥ 0 such as 80Gi, 1.5Ti, 512M or 1024`},
	}, errorOf(data.ReadJobs))
}

func TestJobsRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Z0-9_./:#"'{}\[\]&*!%@,é?~<>=|-]([a-z:# ]{0,5}[a-z0-9"'#:])?`)
	positive := rapid.Float64Range(1e-6, 1e9)
	draw := rapid.Custom(func(t *rapid.T) data.Job {
		j := data.Job{Name: text.Draw(t, "name"), Model: text.Draw(t, "model"), Weight: positive.Draw(t, "weight"),
			Deadline:       time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "deadline")),
			RestartSeconds: positive.Draw(t, "restart"), RestartGiven: true, GPUTypes: rapid.SliceOfNDistinct(rapid.Map(text, data.GPUTypeOf), 0, 3, rapid.ID).Draw(t, "types"),
			Resources: data.Resources{PS: data.Need{CPUs: positive.Draw(t, "cpus"), Memory: rapid.Int64Range(0, 1<<62).Draw(t, "memory")}},
			Template:  data.Template{Command: rapid.SliceOf(rapid.String()).Draw(t, "command"), Env: rapid.MapOfN(text, rapid.String(), 0, 2).Draw(t, "env")},
		}
		j.Remaining = rapid.SampledFrom([]data.Remaining{{Steps: 1e9}, {TargetLoss: -0.25, HasTarget: true}, {Epochs: .5, Dataset: 1281167}, {Seconds: 3}}).Draw(t, "left")
		if rapid.Bool().Draw(t, "running") {
			p := rapid.SliceOfN(rapid.IntRange(1, 16), 1, 4).Draw(t, "placement")
			j.Current = &data.Current{GPUType: rapid.Map(text, data.GPUTypeOf).Draw(t, "gpu"), Mode: data.PSSync, PS: 2, Placement: p}
		}
		return j
	})
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.SliceOfNDistinct(draw, 0, 3, func(j data.Job) string { return j.Name }).Draw(t, "jobs")
		checkRoundTrip(t, &data.JobsFile{Jobs: jobs}, data.WriteJobs, data.ReadJobs)
	})
}

func FuzzReadJobs(f *testing.F) {
	f.Add(fullJobs)
	f.Add("jobs: []\n")
	f.Add("jobs:\n- {name: a, model: b, remaining: {epochs: 1, dataset: 2}, template: {env: {A: \"x\\ny\"}}, current: }\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := data.ReadJobs(strings.NewReader(text), "f")
		if err == nil {
			checkRoundTrip(t, jobs, data.WriteJobs, data.ReadJobs)
		}
	})
}
