package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

const fullStudy = `job: resnet50-imagenet
command: [torchrun, "--nnodes={{.Nodes}}", train.py, "--batch={{.LocalBatch}}"]
dir: ..
env: {OMP_NUM_THREADS: 1, EMPTY: }
space:                       # the order matters
  workers: {min: 1, max: 64, scale: log2}
  gpu_type: [a100, t4]
  local_batch: {min: 16, max: 512, step: 16}
  placement: [4, 4-4]
  mode: [ps-sync, allreduce]
  ps: [0, 2]
  lr: [0.1, 1e-2]
constraints: ["workers * local_batch <= 8192"]
objective: {maximize: goodput}
metrics: {regex: 'images/sec: (?P<throughput>[0-9.]+)'}
batch: {initial: 256, max: 8192, adapt: true}
trial: {warmup: 5, min_steps: 30, max_seconds: 120, rel_precision: 0.01, timeout: 10m, retries: 0}
budget: {trials: 16, cost: 40, wall: 2h}
parallel: 2
price_per_hour: {a100: 4.1, t4: 0}
launcher: {local: {ranks: true}}
storage: sqlite:study.db
seed: -7
`

func TestReadStudy(t *testing.T) {
	got, err := data.ReadStudy(strings.NewReader(fullStudy), "dir/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := &data.Study{
		Job:     "resnet50-imagenet",
		Command: []string{"torchrun", "--nnodes={{.Nodes}}", "train.py", "--batch={{.LocalBatch}}"},
		Dir:     "..", Env: map[string]string{"OMP_NUM_THREADS": "1", "EMPTY": ""},
		Space: []data.Knob{
			{Name: "workers", Range: &data.Range{Min: 1, Max: 64, Scale: "log2"}},
			{Name: "gpu_type", Values: []string{"a100", "t4"}},
			{Name: "local_batch", Range: &data.Range{Min: 16, Max: 512, Scale: "linear", Step: 16}},
			{Name: "placement", Values: []string{"4", "4-4"}},
			{Name: "mode", Values: []string{"ps-sync", "allreduce"}},
			{Name: "ps", Values: []string{"0", "2"}},
			{Name: "lr", Values: []string{"0.1", "1e-2"}},
		},
		Constraints: []string{"workers * local_batch <= 8192"},
		Objective:   data.Objective{Maximize: "goodput"},
		Metrics:     data.Metrics{Regex: "images/sec: (?P<throughput>[0-9.]+)"},
		Batch:       data.Batch{Initial: 256, Max: 8192, Adapt: true},
		Trial:       data.TrialSettings{Warmup: 5, MinSteps: 30, MaxSeconds: 120, RelPrecision: 0.01, Timeout: 10 * time.Minute},
		Budget:      data.Budget{Trials: 16, Cost: 40, Wall: 2 * time.Hour},
		Parallel:    2, PricePerHour: map[string]float64{"a100": 4.1, "t4": 0},
		Launcher: data.LauncherSpec{Local: &data.LocalSpec{Ranks: true}},
		Storage:  "sqlite:study.db", Seed: -7,
	}
	if diff := cmp.Diff(want, got, sameData()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := got.Space[2].Source.String(); at != "dir/study.yaml:8:space.local_batch" {
		t.Errorf("source of a knob: %s", at)
	}
}

func TestReadStudyDefaults(t *testing.T) {
	got, err := data.ReadStudy(strings.NewReader("job: a\ncommand: [true]\nspace: {workers: [1]}\n"), "s")
	if err != nil {
		t.Fatal(err)
	}
	want := &data.Study{
		Job: "a", Command: []string{"true"}, Space: []data.Knob{{Name: "workers", Values: []string{"1"}}},
		Objective: data.Objective{Cover: true}, Metrics: data.Metrics{JSONL: true},
		Trial:    data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 60, RelPrecision: 0.02, Timeout: 2 * time.Minute, Retries: 1},
		Launcher: data.LauncherSpec{Local: &data.LocalSpec{}}, Storage: "journal",
	}
	if diff := cmp.Diff(want, got, sameData()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without a space, a replay's table is the space.
func TestReadStudyReplay(t *testing.T) {
	for _, text := range []string{
		"job: a\nspace: {vm: [x, y]}\nobjective: {minimize: step_time}\nlauncher: {replay: {table: t.csv}}\n",
		"job: a\nspace: {workers: [1]}\ncommand: [x]\nlauncher:\n  local:\n",
	} {
		if _, err := data.ReadStudy(strings.NewReader(text), "s"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReadStudyRefuses(t *testing.T) {
	const head = "job: a\ncommand: [x]\n"
	const ok = head + "space: {workers: [1]}\n"
	knob := func(s string) string { return head + "space:\n  " + s + "\n" }
	checkFailures(t, []failure{
		{"tab", "job: a\n\tcommand: [x]\n", `f:2:1: found "command: [x]", want blanks: YAML is not indented by tabs`},
		{"syntax", "job: [\n", "f:2:1: found the end of the file, want a value, or what ends the list or mapping begun before"},
		{"open list", "job: a\ncommand: [a, b\nspace:\n  workers: [1]\n", `f:3:6: found "space:", want a comma, or a ] that ends the list begun at 2:10`},
		{"open quote", "job: 'a\n", "f:2:1: found the end of the file, want a quote that ends the text begun at 1:6"},
		{"indentation", "space:\n  workers: [1]\n ps: [1]\n", `f:3:2: found "ps: [1]", want a key as far indented as those beside it, or the end of the section`},
		{"two colons", "job: a: b\n", `f:1:7: found "job: a: b", want one colon in a line, keys as far indented as those beside them, and quotes around a text with a colon and a blank`},
		{"last line", "job: a\nspace: {workers: [1 2}", `f:2:22: found "space: {workers: [1 2}", want a comma, or a ] that ends the list begun at 2:18`},
		{"no colon", "job: a\ncommand\n", `f:2:1: found "command", want a colon and a blank behind the key`},
		{"no text", "job: \x01\n", "f: found what no YAML has (control characters are not allowed (value: 1)), want text in UTF-8 without control characters"},
		{"two documents", ok + "---\njob: b\n", "f:4: found a second YAML document, want one document"},
		{"list", "- a\n", "f:1: found a list, want a mapping with the keys job, command, dir, env, space, constraints, objective, metrics, model, batch, trial, budget, parallel, price_per_hour, launcher, storage, seed"},
		{"unknown", ok + "lancher: {}\n", `f:4:lancher: found an unknown key (did you mean "launcher"?), want one of job, command, dir, env, space, constraints, objective, metrics, model, batch, trial, budget, parallel, price_per_hour, launcher, storage, seed`},
		{"unknown below", ok + "trial:\n  min_step: 3\n", `f:5:trial.min_step: found an unknown key (did you mean "min_steps"?), want one of warmup, min_steps, max_seconds, rel_precision, timeout, retries`},
		{"twice", ok + "job: b\n", "f:4:job: found the key twice, want each key once"},
		{"no job", "command: [x]\nspace: {workers: [1]}\n", "f:1:job: found nothing, want the name of what is trained"},
		{"no command", "job: a\nspace: {workers: [1]}\n", "f:1:command: found nothing, want the command of a trial, a list such as [python, train.py]"},
		{"command line", "job: a\ncommand: python train.py\nspace: {workers: [1]}\n", `f:2:command: found "python train.py", want a list of arguments such as [python, train.py]`},
		{"no space", head, "f:1:space: found nothing, want at least one knob, such as workers: [1, 2, 4]"},
		{"empty space", head + "space: {}\n", "f:3:space: found nothing, want at least one knob, such as workers: [1, 2, 4]"},
		{"knob twice", knob("workers: [1]\n  workers: [2]"), "f:5:space.workers: found the key twice, want each key once"},
		{"value twice", knob("local_batch: [16, 16.0]"), `f:4:space.local_batch: found "16.0" twice, want each value once`},
		{"no values", knob("workers: []"), "f:4:space.workers: found an empty list, want a list such as [1, 2, 4], or a range such as {min: 1, max: 64, scale: log2}"},
		{"scalar knob", knob("workers: 4"), `f:4:space.workers: found "4", want a list such as [1, 2, 4], or a range such as {min: 1, max: 64, scale: log2}`},
		{"zero workers", knob("workers: [0]"), `f:4:space.workers: found "0", want a whole number from 1 to 1000000000`},
		{"negative ps", knob("ps: [-1]"), `f:4:space.ps: found "-1", want a whole number from 0 to 1000000000`},
		{"NaN knob", knob("lr: [.1, NaN]"), `f:4:space.lr: found "NaN", want a finite number, or text`},
		{"mode", knob("mode: [sync]"), `f:4:space.mode: found "sync", want allreduce, ps-sync or ps-async`},
		{"placement", knob("placement: [4-0]"), `f:4:space.placement: found "4-0", want workers per node, such as 4-4-2`},
		{"result", knob("step_time_s: [1]"), "f:4:space.step_time_s: found a result of a trial, want a knob that can be set"},
		{"name", knob("learning-rate: [1]"), `f:4:space.learning-rate: found "learning-rate", want a name of letters, digits and _, not beginning with a digit`},
		{"three batches", knob("local_batch: [1]\n  global_batch: [2]\n  accum_steps: [1]"), "f:5:space.global_batch: found local_batch and accum_steps too, want two of local_batch, global_batch and accum_steps: the third follows"},
		{"range of text", knob("gpu_type: {min: 1, max: 2}"), "f:4:space.gpu_type: found a range, want a list of values, since gpu_type is not a number"},
		{"range without max", knob("workers: {min: 1}"), "f:4:space.workers.max: found nothing, want a whole number from 1 to 1000000000"},
		{"range backwards", knob("workers: {min: 4, max: 2}"), "f:4:space.workers.max: found 2, want at least min, 4"},
		{"scale", knob("workers: {min: 4, max: 8, scale: log}"), `f:4:space.workers.scale: found "log" (did you mean "log2"?), want one of linear, log2`},
		{"log of zero", knob("lr: {min: 0, max: 8, scale: log2}"), "f:4:space.lr.min: found 0, want a number > 0, since scale is log2"},
		{"endless", knob("lr: {min: 0, max: 1, step: 1e-9}"), "f:4:space.lr.step: found 1e-09, want a step that gives at most 100000 values, or scale: log2"},
		{"objective", ok + "objective: goodput\n", `f:4:objective: found "goodput", want accuracy, {maximize: throughput or goodput} or {minimize: step_time or cost_to_target}`},
		{"direction", ok + "objective: {maximize: step_time}\n", `f:4:objective.maximize: found "step_time", want one of throughput, goodput`},
		{"samples", ok + "objective: {maximize: goodput, samples: -1}\n", "f:4:objective.samples: found \"-1\", want samples at initial-batch worth > 0"},
		{"deadline", ok + "objective: {minimize: cost_to_target, samples: 1e9, deadline: soon}\n", "f:4:objective.deadline: found \"soon\", want a time > 0 such as 90s, 2h30m, 1d12h or plain seconds"},
		{"at", ok + "objective: {maximize: throughput, at: 256}\n", `f:4:objective.at: found "256", want a mapping`},
		{"two directions", ok + "objective: {maximize: goodput, minimize: step_time}\n", "f:4:objective: found a mapping without one direction, want accuracy, {maximize: throughput or goodput} or {minimize: step_time or cost_to_target}"},
		{"metrics", ok + "metrics: {jsonl: true, regex: x}\n", "f:4:metrics: found not exactly one way to read them, want {jsonl: true}, {regex: '…'} or {pattern: NAME}"},
		{"rank", ok + "metrics: {rank: some}\n", `f:4:metrics.rank: found "some", want all, or the number of a rank ≥ 0 (default: 0)`},
		{"cost without a price", ok + "budget: {cost: 5}\n", `f:4:budget: found a cost without prices, want a price_per_hour of every gpu_type of the space`},
		{"pattern", ok + "metrics: {pattern: tim}\n", `f:4:metrics.pattern: found "tim" (did you mean "timm"?), want one of deepspeed, detectron2, fairseq, horovod, huggingface, keras, lightning, maxtext, megatron, mlperf, mmengine, nemo, pytorch-imagenet, tf-cnn-benchmarks, timm, torchtitan, torchvision, tqdm`},
		{"regex", ok + "metrics: {regex: '('}\n", "f:4:metrics.regex: found error parsing regexp: missing closing ): `(`, want a regular expression (RE2)"},
		{"group", ok + "metrics: {regex: '(?P<step_time>.)'}\n", `f:4:metrics.regex: found group "step_time" (did you mean "step_time_s"?), want groups named step, step_time_s, step_time_ms, steps_per_s, sync_time_s, throughput, worker_throughput, loss, total_steps`},
		{"no group", ok + "metrics: {regex: 'a'}\n", `f:4:metrics.regex: found "a", want a group such as (?P<step_time_s>…), (?P<throughput>…) or (?P<step>…)`},
		{"warmup", ok + "trial: {warmup: some}\n", `f:4:trial.warmup: found "some", want auto or the number of steps to drop`},
		{"precision", ok + "trial: {rel_precision: 2}\n", `f:4:trial.rel_precision: found "2", want a fraction between 0 and 1, such as 0.02`},
		{"timeout", ok + "trial: {timeout: soon}\n", `f:4:trial.timeout: found "soon", want a time > 0 such as 90s, 2h30m, 1d12h or plain seconds`},
		{"budget", ok + "budget: {trials: 0}\n", `f:4:budget.trials: found "0", want a whole number from 1 to 1000000000`},
		{"price", ok + "price_per_hour: {t4: -1}\n", `f:4:price_per_hour.t4: found "-1", want US$ per worker-hour ≥ 0`},
		{"launchers", ok + "launcher: {local: {}, replay: {table: t}}\n", "f:4:launcher: found local and replay, want one of the launchers of this version: local, slurm, kubernetes, replay"},
		{"replay", ok + "launcher: {replay: {}}\n", "f:4:launcher.replay: found no table, want {table: FILE}, the measurements to answer from"},
		{"storage", ok + "storage: redis://u:secret@h\n", "f:4:storage: found an unknown kind of storage, want journal, sqlite:FILE, postgres://… or mysql://…"},
		{"batch", ok + "batch: {initial: 64, max: 32}\n", "f:4:batch.max: found 32, want at least the initial batch, 64"},
	}, errorOf(data.ReadStudy))
}

func FuzzReadStudy(f *testing.F) {
	f.Add(fullStudy)
	f.Add("job: a\ncommand: [x]\nspace: {workers: [1]}\ntrial: &t {retries: 2}\nbudget: {<<: *b}\n")
	f.Add("&a [*a]")
	f.Add("job: !!binary aGk=\nlauncher: {replay: {table: '-'}}\nseed: 0x10\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := data.ReadStudy(strings.NewReader(text), "f")
		if err == nil && (len(s.Space) == 0 || s.Launcher.Replay == nil && len(s.Command) == 0) {
			t.Errorf("%q was read as %+v", text, s)
		}
	})
}
