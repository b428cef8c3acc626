package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

const fullOperate = `scheduler: slurm
folder: turns
interval: 1m
rules:
  - {match: {name: "resnet-*", partition: gpu}, model: resnet.json, remaining: {steps: 90000}, batch: {initial: 256}, checkpoint: true, log: "/logs/{id}-{name}.out"}
allow:
  - {partition: gpu, user: ann, labels: {knee: "yes"}}
max_changes: 3
maintenance: [{from: 2026-05-01T00:00:00Z, to: 2026-05-01T06:00:00Z}]
pause_file: PAUSE
`

func TestReadOperate(t *testing.T) {
	got, err := data.ReadOperate(strings.NewReader(fullOperate), "f")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	want := &data.Operate{Scheduler: "slurm", Folder: "turns", Interval: time.Minute, MaxChanges: 3, BetweenMoves: 30 * time.Minute,
		Deadline: 5 * time.Minute, Horizon: time.Hour, PauseFile: "PAUSE",
		Rules: []data.JobRule{{Match: data.Match{Name: "resnet-*", Partition: "gpu"}, Model: "resnet.json", Remaining: data.Remaining{Steps: 90000},
			Batch: data.Batch{Initial: 256}, Weight: 1, Checkpoint: true, Log: "/logs/{id}-{name}.out"}},
		Allow:       []data.Match{{Partition: "gpu", User: "ann", Labels: map[string]string{"knee": "yes"}}},
		Maintenance: []data.Window{{From: day, To: day.Add(6 * time.Hour)}}, Source: data.Source{File: "f"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := got.Rules[0].LogOf(map[string]string{"id": "7", "name": "../etc"}); at != "/logs/7-.._etc.out" {
		t.Errorf("log of the job: %s", at)
	}
}

func TestReadOperateRefuses(t *testing.T) {
	checkFailures(t, []failure{
		{"no scheduler", "interval: 1m\n", "f:1:scheduler: found nothing, want slurm or kubernetes"},
		{"key", "scheduler: slurm\nalow: []\n", `f:2:alow: found an unknown key (did you mean "allow"?), want one of scheduler, namespaces, folder, interval, rules, allow, tenants, max_changes, between_moves, deadline, horizon, maintenance, pause_file, profile, metrics, objective, policy, sizes, risk, hysteresis`},
		{"pattern", "scheduler: slurm\nallow: [{user: \"[a\"}]\n", `f:2:allow[0].user: found "[a", want a pattern such as resnet-*, where * stands for any text without a slash`},
		{"window", "scheduler: slurm\nmaintenance: [{from: 2026-05-01T00:00:00Z, to: 2026-05-01T00:00:00Z}]\n", "f:2:maintenance[0].to: found 2026-05-01T00:00:00Z, want a point in time after from"},
		{"match", "scheduler: slurm\nrules:\n- {model: m, remaining: {steps: 1}}\n", `f:3:rules[0].match: found nothing, want what the job must have, such as {name: "resnet-*"}`},
	}, errorOf(data.ReadOperate))
}

func TestEverythingMatches(t *testing.T) {
	for _, m := range []data.Match{{}, {Name: "*"}, {User: "**", Partition: "*"}} {
		if !m.Everything() {
			t.Errorf("%+v does not match every job", m)
		}
	}
	for _, m := range []data.Match{{Name: "a*"}, {Labels: map[string]string{"a": ""}}} {
		if m.Everything() {
			t.Errorf("%+v matches every job", m)
		}
	}
}
