package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode"

	"knee/allocate/shard"
	"knee/allocate/simulate"
	"knee/bayesopt/replay"
	"knee/data"
	"knee/fit"
	"knee/fit/interference"
	"knee/internal/mutate"
	"knee/internal/nvidia"
	"knee/internal/slurm"
	"knee/operate/check"
	"knee/profile/launch"
)

// mutations is how many damaged inputs each of the tests below tries: few in a
// usual run, 20000 to be sure (go test ./cmd/knee -run Mutated -mutations 20000).
var mutations = flag.Int("mutations", 600, "damaged inputs to try")

// inputs are small files of every kind, by the name under which the commands
// below expect them.
var inputs = map[string]string{
	"m.csv": `job,gpu_type,mode,placement,workers,ps,local_batch,accum_steps,step_time_s,sync_time_s,step_time_sd_s,steps,status,error,price_per_hour,wall_s,started_at,x_lr
a,a100,allreduce,1,1,0,32,0,0.10,0.01,0.001,40,ok,,3.2,60,2025-03-01T12:00:00Z,0.1
a,a100,allreduce,2,2,0,32,0,0.11,0.02,0.001,40,ok,,6.4,60,2025-03-01T12:01:00Z,0.1
a,a100,allreduce,4,4,0,32,1,0.22,0.03,0.001,40,ok,,12.8,60,2025-03-01T12:02:00Z,0.1
a,a100,allreduce,4-4,8,0,64,0,0.21,0.06,0.002,40,ok,,25.6,60,2025-03-01T12:03:00Z,0.1
a,a100,allreduce,4-4,8,0,512,0,,,,,oom,CUDA out of memory,25.6,9,2025-03-01T12:04:00Z,0.1
`,
	"foreign.csv": "gpus;Batch/GPU;gpu_type;tokens_s;price;note\n1;32;A100;320,5;3,2;x\n2;32;A100;600,0;6,4;y\n4;32;a100;1100,0;12,8;z\n",
	"curve.csv":   "job,run,step,epoch,loss,metric,global_batch,grad_sqr,grad_var\na,r,0,0,2.3,0.1,32,4.5,100\na,r,100,1,1.5,0.4,32,2.5,90\na,r,200,2,1.1,0.5,32,1.5,85\na,r,300,3,0.9,0.6,32,1.1,80\na,r,400,4,0.8,0.65,32,0.9,80\na,r,500,5,0.74,0.7,32,0.8,79\n",
	"study.yaml": `job: a
command: [python, train.py, "--batch={{.LocalBatch}}"]
env: {NCCL_DEBUG: INFO}
space:
  gpu_type: [a100, t4]
  workers: {min: 1, max: 16, scale: log2}
  local_batch: [16, 32, 64]
  lr: [0.1, 0.2]
constraints: ["workers * local_batch <= 1024"]
objective: {maximize: throughput, samples: 1e6, deadline: 2h}
metrics: {regex: 'images/sec: (?P<throughput>[0-9.]+)'}
batch: {initial: 32, max: 2048, adapt: true}
trial: {warmup: auto, min_steps: 20, max_seconds: 60, rel_precision: 0.02, timeout: 2m, retries: 1}
budget: {trials: 8, cost: 10, wall: 1h}
price_per_hour: {a100: 3.2, t4: 0.4}
launcher: {kubernetes: {image: "r/i:1", requests: {cpu: "8"}, template: {spec: {tolerations: [{key: gpu, operator: Exists}]}}}}
seed: 1
`,
	"cluster.yaml": "nodes:\n  - {name: \"n[1-2]\", gpu_type: a100, gpus: 4, cpus: 32, memory: 256Gi, price_per_hour: 16}\n  - &t\n    name: t1\n    gpu_type: t4\n    gpus: 2\n  - {<<: *t, name: t2, drained: true}\n",
	"jobs.yaml": `jobs:
  - name: a
    model: model.json
    remaining: {steps: 20000}
    workers: {min: 1, max: 8}
    gpu_types: [a100]
    batch: {initial: 32, max: 1024, adapt: true}
    weight: 2
    deadline: 6h
    current: {gpu_type: a100, placement: "2", local_batch: 32, nodes: n1}
    restart_seconds: 30
    resources: {worker: {cpus: 4, memory: 16Gi}}
    template: {image: "r/i:1", command: [python, train.py], env: {A: b}, pod: {spec: {tolerations: [{key: gpu, tolerationSeconds: 30}]}}}
  - {name: b, model: model.json, remaining: {epochs: 3, dataset: 1e5}, batch: {initial: 32}, template: {image: i, command: [run]}}
`,
	"w.csv":     "job,submit_s,application,workers,global_batch,duration_s,weight,elastic,workers_min,workers_max\na,0,r,2,64,100,1,true,,\nb,50,r,1,32,200,2,false,,\nc,60,r,4,64,50,1,,,\n",
	"gavel.tsv": "ResNet-18 (batch size 64)\tpython main.py\t.\t--steps\t0\t1000\t1\t1\t-1\t10\nLM (batch size 5)\tpython lm.py\t.\t--steps\t0\t500\t2\t1\t-1\t20\n",
	"usage.csv": "policy,workload,time_s,gpus_used,gpus_total,running,waiting\nfifo,w,0,4,8,1,0\nfifo,w,50,8,8,2,1\nfifo,w,70,0,8,0,0\n",
	"done.csv":  "policy,workload,job,submit_s,start_s,end_s,jct_s,restarts\nfifo,w,a,0,1,100,100,0\nfifo,w,b,50,51,200,150,1\n",
	"sim.csv":   "policy,workload,jobs,jct_mean_s,jct_median_s,makespan_s\nfifo,w,3,100,90,300\nsrtf,w,3,80,70,310\n",
	"table.csv": "workers,vcpus,local_batch,time_s,cost_usd,status\n1,4,32,100,1,ok\n2,4,32,60,1.2,ok\n4,8,32,40,1.6,ok\n8,8,64,30,2.4,failed\n",
	"steps.csv": "worker,step,step_time_s,arrived_s\n0,1,0.1,0.1\n1,1,0.12,0.12\n0,2,0.1,0.2\n1,2,0.13,0.25\n0,3,0.1,0.3\n1,3,0.3,0.55\n",
	"pairs.csv": "application,beside,gpu_type,workers,share,step_time_s,alone_step_time_s,steps_per_s,alone_steps_per_s\na,b,t4,1,.8,,,,\nb,a,t4,1,,.2,.1,,\na,c,v100,,,,,0,5\n",
	"shapes":    "name,shape\nconv1,64x3x7x7\nfc,1000x512\nbias,1000\n",
	"nodes":     "NodeName=n1 CPUTot=16 RealMemory=64000 Gres=gpu:a100:4(S:0-1),nic:2 State=IDLE+DRAIN Partitions=p,q\nNodeName=n2 CPUTot=8 RealMemory=1000 Gres=(null) State=ALLOCATED\n",
	"smi":       "0, GPU-1, NVIDIA A100-SXM4-80GB, 81920, 10, 5\n1, GPU-2, NVIDIA A100-SXM4-80GB, 81920, [N/A], [N/A]\n",
	"log":       "knee: {\"step\":1,\"step_time_s\":0.1,\"loss\":2.5}\nknee: {\"step\":2,\"step_time_s\":0.12}\nknee: {\"step\":3,\"step_time_s\":0.11}\nstep 12 images/sec: 304.5 loss 2.1\n 10%|█         | 10/100 [00:05<00:45,  2.0it/s, loss=1.2]\n",
}

// readers reads an input of every kind without a command; the second result
// is what has to be finite.
var readers = map[string]func(io.Reader, string) (any, error){
	"m.csv":        three(data.ReadMeasurements),
	"foreign.csv":  three(data.Import{Columns: map[string]string{"gpus": "workers", "Batch/GPU": "local_batch", "tokens_s": "tokens_per_s", "price": "price_per_hour"}, Given: map[string]string{"job": "a", "seq_len": "8"}}.Read),
	"study.yaml":   two(data.ReadStudy),
	"cluster.yaml": two(data.ReadCluster),
	"jobs.yaml":    two(data.ReadJobs),
	"plan.json":    two(data.ReadPlan),
	"model.json":   two(fit.DecodeModel),
	"w.csv":        three(simulate.ReadWorkload),
	"gavel.tsv":    three(simulate.ReadWorkload),
	"usage.csv":    two(simulate.ReadUsage),
	"done.csv":     two(simulate.ReadOutcomes),
	"sim.csv": func(r io.Reader, name string) (any, error) {
		var rows [][]string
		err := data.EachRow(r, name, nil, func(row *data.Row) error { rows = append(rows, row.Cells()); return nil })
		return rows, err
	},
	"table.csv": two(replay.ReadTable),
	"steps.csv": three(check.Read),
	"pairs.csv": three(interference.Read),
	"shapes":    two(shard.Read),
	"curve.csv": func(r io.Reader, name string) (any, error) {
		_, _, err := data.ReadCurve(r, name) // what was not recorded is NaN
		return nil, err
	},
	"nodes": text(slurm.ParseNodes),
	"smi":   text(func(s string) ([]nvidia.GPU, error) { return nvidia.Parse(strings.NewReader(s)) }),
	"log":   text(parseLog),
}

func two[T any](read func(io.Reader, string) (T, error)) func(io.Reader, string) (any, error) {
	return func(r io.Reader, name string) (any, error) { return read(r, name) }
}

func three[T any](read func(io.Reader, string) (T, []string, error)) func(io.Reader, string) (any, error) {
	return func(r io.Reader, name string) (any, error) { v, _, err := read(r, name); return v, err }
}

// text adapts a reader of what another program prints, whose errors are no
// input errors.
func text[T any](read func(string) (T, error)) func(io.Reader, string) (any, error) {
	return func(r io.Reader, name string) (any, error) {
		b, _ := io.ReadAll(r)
		v, err := read(string(b))
		if err != nil {
			err = &data.InputError{Source: data.Source{File: name}, Found: err.Error()}
		}
		return v, err
	}
}

// parseLog reads a log with every pattern. Of an observation, NaN is what was
// not reported.
func parseLog(log string) ([]string, error) {
	for _, name := range data.MetricPatterns() {
		p, err := launch.NewParser(data.Metrics{Pattern: name})
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(log) {
			if o, ok, err := p.Parse(line); ok && err == nil && (math.IsInf(o.StepTime, 0) || math.IsInf(o.Throughput, 0)) {
				return nil, fmt.Errorf("%s: %+v of %.80q", name, o, line)
			}
		}
	}
	return nil, nil
}

// commands are what each input is given to. Those that take long come less
// often.
var commands = []struct {
	file, args string
	seldom     bool
}{
	{"m.csv", "fit m.csv -f out.json --no-advice", true},
	{"m.csv", "validate m.csv", true},
	{"m.csv", "report m.csv -f r.html", true},
	{"m.csv", "predict model.json --at m.csv -o csv", false},
	{"curve.csv", "plot convergence curve.csv -f c.svg", false},
	{"curve.csv", "fit m.csv --curve curve.csv --initial-batch 32 -f out.json --no-advice", true},
	{"model.json", "predict model.json --workers 1..8 -o json", false},
	{"model.json", "predict model.json --workers 1..8 --steps 1000 --initial-batch 32 -o csv", false},
	{"model.json", "plot scalability model.json -f s.svg", true},
	{"study.yaml", "suggest study.yaml --history m.csv -o json", true},
	{"cluster.yaml", "cluster --check cluster.yaml", false},
	{"cluster.yaml", "allocate --cluster cluster.yaml --jobs jobs.yaml -o json", true},
	{"jobs.yaml", "allocate --cluster cluster.yaml --jobs jobs.yaml -o csv", true},
	{"plan.json", "export plan.json --to slurm -d -", false},
	{"plan.json", "export plan.json --to kueue -d -", false},
	{"plan.json", "plot allocation plan.json --cluster cluster.yaml -f a.svg", false},
	{"w.csv", "simulate --cluster cluster.yaml --workload w.csv --policy fifo,srtf --node-mtbf 10000 -o csv", false},
	{"gavel.tsv", "simulate --cluster cluster.yaml --workload gavel.tsv --policy fifo -o json", false},
	{"usage.csv", "plot simulation usage.csv -f u.svg", false},
	{"done.csv", "plot simulation done.csv -f d.svg", false},
	{"sim.csv", "report sim.csv -f r.html", false},
	{"table.csv", "bench search table.csv --methods random --seeds 2 -o csv", false},
	{"steps.csv", "check steps.csv -o json", false},
	{"foreign.csv", "read foreign.csv --columns gpus=workers,Batch/GPU=local_batch,tokens_s=tokens_per_s,price=price_per_hour --job a --seq-len 8", false},
	{"log", "read log --job a --workers 2 --local-batch 32", false},
	{"shapes", "shard shapes --ps 3 -o csv", false},
}

// TestMutatedReaders: no damaged input makes a reader panic, take the memory
// of the machine, return a number that is none, or complain at length or
// without saying in which file.
func TestMutatedReaders(t *testing.T) {
	dir, names := writeInputs(t)
	guardMemory(t)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range *mutations {
		name := names[i%len(names)]
		read, ok := readers[name]
		if !ok {
			continue
		}
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		damaged := mutate.Bytes(r, file)
		at := fmt.Sprintf("input %d, %s", i, name)
		trying.Store(&at)
		survives(t, at, damaged, func() {
			v, err := read(bytes.NewReader(damaged), "F")
			var input *data.InputError
			switch {
			case err == nil:
				if where := notFinite(reflect.ValueOf(v), 0); where != "" {
					fails(t, at, damaged, "accepted with a number that is none at %s", where)
				}
			case !errors.As(err, &input) || !strings.Contains(err.Error(), "F"):
				fails(t, at, damaged, "%T without the file: %v", err, err)
			case len(err.Error()) > 8000 || strings.ContainsFunc(err.Error(), unprintable):
				fails(t, at, damaged, "a message of %d bytes that is not for a terminal: %.200q", len(err.Error()), err.Error())
			}
		})
	}
}

// TestMutatedCommands: whatever is in its input, a command ends with a result
// of finite numbers or with a status and a message that say what is wrong.
func TestMutatedCommands(t *testing.T) {
	dir, _ := writeInputs(t)
	t.Chdir(dir)
	guardMemory(t)
	for _, c := range commands {
		if err := run(t.Context(), io.Discard, io.Discard, append(strings.Fields(c.args), "-q")); err != nil {
			t.Fatalf("knee %s, with nothing damaged: %v", c.args, err)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for i := range *mutations / 6 {
		c := commands[r.IntN(len(commands))]
		if c.seldom && r.IntN(4) > 0 {
			continue
		}
		file, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		damaged := mutate.Bytes(r, file)
		if err := os.WriteFile(c.file, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("input %d, knee %s", i, c.args)
		trying.Store(&at)
		start := time.Now()
		survives(t, at, damaged, func() { judge(t, at, damaged, c.args) })
		if d := time.Since(start); d > 30*time.Second {
			fails(t, at, damaged, "took %v", d)
		}
		if err := os.WriteFile(c.file, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// judge runs a command and looks at what came of it.
func judge(t *testing.T, at string, damaged []byte, args string) {
	var out, said bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := run(ctx, &out, &said, append(strings.Fields(args), "-q"))
	code := exitCode(&said, err)
	switch {
	case code == exitFailed || code == exitInterrupted:
		fails(t, at, damaged, "exit status %d: %.300s", code, said.String())
	case code != exitOK && !strings.Contains(said.String(), "knee: "):
		fails(t, at, damaged, "exit status %d without a word", code)
	case said.Len() > 40_000:
		fails(t, at, damaged, "%d bytes of messages: %.300q", said.Len(), said.String())
	case strings.ContainsFunc(said.String(), unprintable) || strings.ContainsFunc(out.String(), unprintable):
		fails(t, at, damaged, "control characters reach the terminal: %.300q", said.String()+out.String())
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if i := strings.Index(out.String(), bad); code == exitOK && i >= 0 && !strings.Contains(string(damaged), bad) {
			fails(t, at, damaged, "prints %q", out.String()[max(0, i-80):min(out.Len(), i+20)])
		}
	}
}

// writeInputs writes the files, with a model and a plan made of them.
func writeInputs(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range inputs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"fit m.csv --curve curve.csv --initial-batch 32 -f model.json --no-advice", "allocate --cluster cluster.yaml --jobs jobs.yaml --plan plan.json"} {
		var said bytes.Buffer
		words := strings.Fields(args)
		for i, w := range words {
			if strings.Contains(w, ".") {
				words[i] = filepath.Join(dir, w)
			}
		}
		if err := run(t.Context(), io.Discard, &said, words); err != nil {
			t.Fatalf("knee %s: %v\n%s", args, err, said.String())
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return dir, names
}

// survives fails the test if do panics.
func survives(t *testing.T, at string, damaged []byte, do func()) {
	defer func() {
		if p := recover(); p != nil {
			fails(t, at, damaged, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	do()
}

// fails reports a damaged input and keeps it.
func fails(t *testing.T, at string, damaged []byte, format string, args ...any) {
	t.Helper()
	where := "it is not kept"
	if f, err := os.CreateTemp("", "knee-damaged-*"); err == nil {
		_, _ = f.Write(damaged)
		_ = f.Close()
		where = f.Name()
	}
	t.Errorf("%s (%s): %s", at, where, fmt.Sprintf(format, args...))
}

func unprintable(c rune) bool { return c != '\n' && c != '\t' && unicode.IsControl(c) }

// notFinite returns the path of the first number in v that is none.
func notFinite(v reflect.Value, depth int) string {
	if depth > 12 {
		return ""
	}
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Sprint(f)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return notFinite(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if where := notFinite(v.Field(i), depth+1); where != "" && v.Type().Field(i).IsExported() {
				return v.Type().Field(i).Name + "." + where
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if where := notFinite(v.Index(i), depth+1); where != "" {
				return fmt.Sprintf("[%d]%s", i, where)
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if where := notFinite(v.MapIndex(k), depth+1); where != "" {
				return fmt.Sprint(k, where)
			}
		}
	}
	return ""
}
