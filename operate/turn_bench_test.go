//go:build unix

package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"knee/data"
	"knee/fit"
	"knee/internal/kube"
	"knee/operate"
	"knee/operate/kubequeue"
	"knee/operate/queue"
	"knee/operate/queuetest"
	"knee/operate/slurmqueue"
)

// The queue of the benchmark: 1,000 jobs on 200 nodes of eight GPUs. 60 % of the
// jobs run on two GPUs each and have printed forty steps; knee may change those of
// four of seven users. Slurm has 100 accounts of ten users each, with limits.
const (
	turnJobs    = 1000
	turnRunning = 600
	turnNodes   = 200
)

// counted counts the requests to a scheduler and their answers.
type counted struct{ calls, bytes atomic.Int64 }

func turnConfig(b *testing.B, dir, scheduler string) *data.Operate {
	var rows []data.Measurement
	for _, p := range []data.Placement{{1}, {2}, {4}, {8}, {8, 8}} {
		for _, batch := range []float64{16, 32, 64, 128} {
			rows = append(rows, data.Measurement{Status: data.OK, StepTime: .4*batch/128 + .01*float64(p.Workers()),
				Config: data.Config{Job: "toy", GPUType: "a100", Placement: p, Nodes: len(p), Workers: p.Workers(), LocalBatch: batch}})
		}
	}
	m, err := fit.Fit(rows, fit.Settings{})
	if err == nil {
		err = fit.WriteModel(filepath.Join(dir, "toy.json"), m)
	}
	if err != nil {
		b.Fatal(err)
	}
	c, err := data.ReadOperate(strings.NewReader("scheduler: "+scheduler+`
namespaces: ["*"]
allow: [{user: "u[0-3]"}, {namespace: "u[0-3]"}]
sizes: pow2
rules:
  - {match: {name: "*"}, model: toy.json, remaining: {steps: 100000}, workers: {max: 16}, batch: {initial: 128}, checkpoint: true, restart_seconds: 60}
`), filepath.Join(dir, "operate.yaml"))
	if err == nil {
		err = os.MkdirAll(operate.Folder(c), 0o755)
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// benchTurn makes dry turns.
func benchTurn(b *testing.B, scheduler string, open func(dir string) (queue.Scheduler, *counted)) {
	dir := b.TempDir()
	s, n := open(dir)
	c := turnConfig(b, dir, scheduler)
	audit, err := operate.OpenAudit(operate.Folder(c), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer audit.Close()
	l := &operate.Loop{Config: c, Scheduler: s, Audit: audit, Now: time.Now, Plan: operate.Planner(c, time.Now)}
	began := processor(b)
	for b.Loop() {
		n.calls.Store(0)
		n.bytes.Store(0)
		out, err := l.Turn(b.Context())
		if err != nil || out.Jobs != turnJobs || out.Planned < turnJobs/2 {
			b.Fatalf("%v: %d jobs, %d planned: %q", err, out.Jobs, out.Planned, out.Warnings)
		}
	}
	b.ReportMetric((processor(b)-began)/float64(b.N), "cpu-s/turn")
	b.ReportMetric(float64(n.calls.Load()), "calls/turn")
	b.ReportMetric(float64(n.bytes.Load())/1e6, "MB/turn")
}

// processor is the processor time that this process and what it ran have taken,
// in seconds: on a busy machine turns take longer.
func processor(b *testing.B) float64 {
	sum := 0.0
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		sum += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	return sum
}

// BenchmarkTurn measures a turn with 1,000 jobs.
//
//	go test ./operate -run '^$' -bench Turn -benchtime 3x
func BenchmarkTurn(b *testing.B) {
	log := queuetest.Steps(1, 40, .22)
	b.Run("slurm", func(b *testing.B) {
		benchTurn(b, "slurm", func(dir string) (queue.Scheduler, *counted) { return slurmOf(b, dir, log) })
	})
	b.Run("kubernetes", func(b *testing.B) {
		benchTurn(b, "kubernetes", func(dir string) (queue.Scheduler, *counted) { return kubernetesOf(b, dir, log) })
	})
}

// slurmOf is a Slurm whose commands print files.
func slurmOf(b *testing.B, dir, log string) (queue.Scheduler, *counted) {
	nodes, jobs := "", []any{}
	for i := range turnNodes {
		nodes += fmt.Sprintf("NodeName=n%03d Arch=x86_64 CPUTot=64 Gres=gpu:a100:8 State=IDLE RealMemory=512000 Partitions=main\n", i)
	}
	for i := range turnJobs {
		j := map[string]any{"job_id": i + 1, "name": fmt.Sprintf("job-%d", i%40), "user_name": fmt.Sprintf("u%d", i%7), "account": fmt.Sprintf("a%d", i%100), "qos": "normal", "comment": "knee:elastic", "batch_flag": true, "requeue": true,
			"priority": 100, "submit_time": 1795300000 + i, "node_count": 1, "tasks": 2, "tres_per_node": "gres:gpu:a100:2", "job_state": "PENDING", "nodes": "", "gres_detail": []string{},
			"standard_output": filepath.Join(dir, fmt.Sprintf("%d.out", i+1))}
		if i < turnRunning {
			j["job_state"], j["nodes"], j["gres_detail"], j["start_time"] = "RUNNING", fmt.Sprintf("n%03d", i/4), []string{"gpu:a100:2"}, 1795310000
			if err := os.WriteFile(j["standard_output"].(string), []byte(log), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		jobs = append(jobs, j)
	}
	bin := filepath.Join(dir, "bin")
	text, err := json.Marshal(map[string]any{"jobs": jobs})
	if err != nil {
		b.Fatal(err)
	}
	accounts := "Account|ParentName|User|Partition|GrpTRES|GrpJobs|MaxTRES|MaxJobs\nroot|||||||\n"
	for i := range 100 {
		accounts += fmt.Sprintf("a%d|root|||gres/gpu=200|||\n", i)
		for k := range 10 {
			accounts += fmt.Sprintf("a%d||u%d||||gres/gpu=16|\n", i, k)
		}
	}
	qos := "Name|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxTRESPA|MaxJobsPA\nnormal||||gres/gpu=400|||\n"
	n, size := &counted{}, map[string]int64{}
	if err := os.Mkdir(bin, 0o755); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"jobs": string(text), "nodes": nodes, "accounts": accounts, "qos": qos} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		size[name] = int64(len(text))
	}
	for name, text := range map[string]string{"squeue": "exec cat DIR/jobs", "sacctmgr": "case \"$*\" in *associations*) exec cat DIR/accounts ;; *) exec cat DIR/qos ;; esac",
		"scontrol": "case \"$*\" in *node*) exec cat DIR/nodes ;; esac"} {
		script := "#!/bin/sh\necho " + name + " \"$*\" >>DIR/calls\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(strings.ReplaceAll(script, "DIR", dir)), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return &slurmCounted{Queue: slurmqueue.New(nil), n: n, calls: filepath.Join(dir, "calls"), size: size}, n
}

// slurmCounted counts the commands that reading a queue takes.
type slurmCounted struct {
	*slurmqueue.Queue
	n     *counted
	calls string
	size  map[string]int64
}

func (s *slurmCounted) Read(ctx context.Context) (*queue.Snapshot, error) {
	if err := os.WriteFile(s.calls, nil, 0o644); err != nil {
		return nil, err
	}
	snap, err := s.Queue.Read(ctx)
	text, _ := os.ReadFile(s.calls)
	for line := range strings.Lines(string(text)) {
		s.n.calls.Add(1)
		for _, asked := range [][2]string{{"squeue", "jobs"}, {"node", "nodes"}, {"associations", "accounts"}, {" qos", "qos"}} {
			if strings.Contains(line, asked[0]) {
				s.n.bytes.Add(s.size[asked[1]])
			}
		}
	}
	return snap, err
}

// kubernetesOf is an API server of batch jobs and PyTorchJobs that answers from
// memory, page by page.
func kubernetesOf(b *testing.B, dir, log string) (queue.Scheduler, *counted) {
	template := func(node string) map[string]any {
		spec := map[string]any{"containers": []any{map[string]any{"name": "pytorch", "image": "registry/team/trainer:1", "resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": "2"}}}}}
		if node != "" {
			spec["nodeName"] = node
		}
		return spec
	}
	lists := map[string][]any{"/api/v1/nodes": nil, "/api/v1/pods": nil, "/apis/kubeflow.org/v1/pytorchjobs": nil, "/apis/batch/v1/jobs": nil, "/api/v1/resourcequotas": nil}
	for i := range turnNodes {
		name := fmt.Sprintf("n%03d", i)
		lists["/api/v1/nodes"] = append(lists["/api/v1/nodes"], map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]any{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}},
			"status": map[string]any{"allocatable": map[string]any{"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
	}
	for i := range turnJobs {
		name, ns, uid := fmt.Sprintf("job-%d", i), fmt.Sprintf("u%d", i%7), fmt.Sprintf("uid-%d", i)
		meta := map[string]any{"name": name, "namespace": ns, "uid": uid, "resourceVersion": "1", "creationTimestamp": "2026-11-20T00:00:00Z", "annotations": map[string]any{"knee/held": "true"}}
		lists["/apis/kubeflow.org/v1/pytorchjobs"] = append(lists["/apis/kubeflow.org/v1/pytorchjobs"], map[string]any{"metadata": meta, "spec": map[string]any{
			"runPolicy": map[string]any{"suspend": i >= turnRunning}, "pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"replicas": 1, "template": map[string]any{"spec": template("")}}}}})
		if i < turnRunning {
			lists["/api/v1/pods"] = append(lists["/api/v1/pods"], map[string]any{"spec": template(fmt.Sprintf("n%03d", i/4)), "status": map[string]any{"phase": "Running"},
				"metadata": map[string]any{"name": name + "-worker-0", "namespace": ns, "uid": "pod-" + uid, "creationTimestamp": "2026-11-21T00:00:00Z", "ownerReferences": []any{map[string]any{"uid": uid}}}})
		}
	}
	n := &counted{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := []byte(log), strings.HasSuffix(r.URL.Path, "/log")
		if list, ok := lists[r.URL.Path]; ok {
			known = true
			from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			to, more := min(from+500, len(list)), map[string]any{}
			if to < len(list) {
				more["continue"] = strconv.Itoa(to)
			}
			answer, _ = json.Marshal(map[string]any{"kind": "List", "metadata": more, "items": list[from:to]})
		}
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = []byte(`{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		}
		n.calls.Add(1)
		n.bytes.Add(int64(len(answer)))
		_, _ = w.Write(answer)
	}))
	b.Cleanup(server.Close)
	config := filepath.Join(dir, "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: t\nclusters: [{name: t, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: t, user: {token: t}}]\ncontexts: [{name: t, context: {cluster: t, user: t}}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	client, err := kube.Load(kube.Settings{Kubeconfig: config})
	if err != nil {
		b.Fatal(err)
	}
	return kubequeue.New(client, []string{"*"}, nil), n
}
