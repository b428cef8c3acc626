package data_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// fullPlan has every kind of entry: a job that grows, with a template, and a
// paused one.
func fullPlan() *data.Plan {
	e := data.Estimate{Mean: 2, Lo: 1, Hi: 3}
	return &data.Plan{
		Version: 1, Objective: "jct", Policy: "marginal-gain", Value: -3, Bound: -2.9, Gap: 0.03, Seed: 7,
		Inputs: []data.Input{{Path: "jobs.yaml", SHA256: "ab"}},
		Jobs: []data.PlannedJob{
			{
				Name: "resnet", Action: data.Grow, GPUType: "t4", Mode: data.PSSync, Workers: 8, PS: 1,
				Placement:  []data.NodeShare{{Node: "t01", Workers: 4, PS: 1}, {Node: "t02", Workers: 4}},
				LocalBatch: 128, Throughput: e, Goodput: e, Finish: e, Cost: e, MarginalGain: data.MarginalGain{Last: 2, Next: 1},
				Reason: "gain > 1 & free", Resources: data.PlanNeeds{WorkerCPUs: 8, WorkerMemory: 1 << 36},
				Template: data.Template{Image: "img", Command: []string{"a"}, TimeLimit: "1:00"},
			},
			{Name: "bert", Action: data.Pause, Placement: []data.NodeShare{}, Reason: "no node is free"},
		},
		Utilization: data.Utilization{GPUsUsed: 8, GPUsTotal: 16}, Warnings: []string{},
	}
}

func TestWritePlan(t *testing.T) {
	var b strings.Builder
	p := &data.Plan{Jobs: []data.PlannedJob{{Name: "a", Action: data.Pause, Template: data.Template{TimeLimit: "<1h"}}}}
	if err := data.WritePlan(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"{\n  \"version\": 1,", `"inputs": [],`, `"placement": [],`, `"warnings": []`, `"time_limit": "<1h"`, "}\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if p.Version != 0 || p.Jobs[0].Placement != nil {
		t.Errorf("writing changed the plan: %+v", p)
	}
	checkRoundTrip(t, fullPlan(), data.WritePlan, data.ReadPlan)
}

func TestWritePlanRefuses(t *testing.T) {
	p := fullPlan()
	p.Bound = math.Inf(1)
	if err := data.WritePlan(&strings.Builder{}, p); err == nil || err.Error() != "write plan: json: unsupported value: +Inf" {
		t.Errorf("infinite bound: %v", err)
	}
	p = fullPlan()
	p.Jobs[1].Name = "resnet"
	if err := data.WritePlan(&strings.Builder{}, p); err == nil || err.Error() != `write plan: plan:jobs[1].name: found "resnet" twice, want each job once` {
		t.Errorf("twice: %v", err)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	job := func(s string) string { return `{"version":1,"jobs":[{"name":"a",` + s + `}]}` }
	checkFailures(t, []failure{
		{"empty", "", "f:1: found unexpected end of JSON input, want valid JSON"},
		{"syntax", "{\"version\":1,\n]", "f:2: found invalid character ']' looking for beginning of object key string, want valid JSON"},
		{"trailing", "{\"version\":1}\n{}", "f:2: found invalid character '{' after top-level value, want valid JSON"},
		{"no version", "{}", "f:version: found nothing, want the version of the plan, from 1 to 1"},
		{"newer", `{"version":3,"colour":1}`, "f:version: found a plan of version 3, written by a newer build, want version 1 or older, the newest this build reads"},
		{"zero", `{"version":0}`, "f:version: found 0, want the version of the plan, from 1 to 1"},
		{"unknown", "{\"version\":1,\n\"jbos\":[]}", "f:2:jbos: found an unknown field, want the fields of a plan of version 1"},
		{"unknown below", job(`"action":"pause","template":{"imge":"x"}`), "f:1:imge: found an unknown field, want the fields of a plan of version 1"},
		{"type", "{\"version\":1,\n\"jobs\":[{\"workers\":\"8\"}]}", "f:2:jobs.workers: found a string, want a value of type int"},
		{"action", job(`"action":"strat"`), `f:jobs[0].action: found "strat" (did you mean "start"?), want one of keep, start, grow, shrink, move, pause, wait`},
		{"sum", job(`"action":"start","workers":3,"placement":[{"node":"n","workers":2}]`), "f:jobs[0].workers: found 3, want 2, the workers of the placement"},
		{"ps sum", job(`"action":"start","workers":2,"ps":1,"placement":[{"node":"n","workers":2}]`), "f:jobs[0].ps: found 1, want 0, the ps of the placement"},
		{"paused", job(`"action":"pause","workers":2,"placement":[{"node":"n","workers":2}]`), "f:jobs[0].workers: found 2, want 0, since the job gets nothing"},
		{"idle", job(`"action":"keep"`), "f:jobs[0].workers: found 0, want at least 1, since the job runs"},
		{"node", job(`"action":"start","placement":[{"workers":2}]`), `f:jobs[0].placement: found node "" with 2 workers and 0 ps, want a node with counts ≥ 0`},
		{"mode", job(`"action":"pause","mode":"sync"`), `f:jobs[0].mode: found "sync", want allreduce, ps-sync or ps-async`},
	}, errorOf(data.ReadPlan))
}

func TestPlanRoundTrip(t *testing.T) {
	number := rapid.Float64Range(-1e12, 1e12)
	rapid.Check(t, func(t *rapid.T) {
		p := fullPlan()
		p.Value, p.Seed = number.Draw(t, "value"), rapid.Int64().Draw(t, "seed")
		p.Warnings = rapid.SliceOf(rapid.String()).Draw(t, "warnings")
		p.Jobs[0].Reason = rapid.String().Draw(t, "reason")
		p.Jobs[0].Template.Env = rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "env")
		p.Jobs[1].Cost.Hi = number.Draw(t, "cost")
		checkRoundTrip(t, p, data.WritePlan, data.ReadPlan)
	})
}

func TestReadPlanWithAByteOrderMark(t *testing.T) {
	var b strings.Builder
	if err := data.WritePlan(&b, fullPlan()); err != nil {
		t.Fatal(err)
	}
	if p, err := data.ReadPlan(strings.NewReader("\ufeff"+b.String()), "plan.json"); err != nil || len(p.Jobs) != 2 {
		t.Errorf("%v; want the mark that some editors write first to be no part of the plan", err)
	}
}

func TestCheckVersion(t *testing.T) {
	if err := data.CheckVersion("model", "m.json", 2, 3); err != nil {
		t.Error(err)
	}
	err := data.CheckVersion("model", "m.json", 4, 3)
	want := "m.json:version: found a model of version 4, written by a newer build, want version 3 or older, the newest this build reads"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzReadPlan(f *testing.F) {
	var b strings.Builder
	if err := data.WritePlan(&b, fullPlan()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"version":1,"jobs":[{"name":"a","action":"pause","template":{"env":{"a":"b"}}}],"jobs":null}`)
	f.Add(`{"version":9}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := data.ReadPlan(strings.NewReader(text), "f")
		if err == nil {
			checkRoundTrip(t, p, data.WritePlan, data.ReadPlan)
		}
	})
}

// An error of a part of a file names the line in the whole file.
func TestJSONErrorOfAPart(t *testing.T) {
	const text = "{\n\"a\": {\n\"b\": 1,\n\"c\": \"x\"}}\n"
	part := strings.Index(text, "{\n\"b\"")
	var v struct{ B, C int }
	err := json.Unmarshal([]byte(text[part:strings.LastIndex(text, "}")]), &v)
	if got := data.JSONError(data.Source{File: "f", Column: "a"}, []byte(text), part, err, "x").Error(); got != "f:4:C: found a string, want a value of type int" {
		t.Error(got)
	}
	dec := json.NewDecoder(strings.NewReader(`{"b": 1, "d": 2}`))
	dec.DisallowUnknownFields()
	if got := data.JSONError(data.Source{File: "f"}, []byte("\n\n"+`{"b": 1, "d": 2}`), 2, dec.Decode(&v), "b and c").Error(); got != "f:3:d: found an unknown field, want b and c" {
		t.Error(got)
	}
}
