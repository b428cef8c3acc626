package kubequeue_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/data"
	"knee/internal/kube"
	"knee/operate/apply"
	"knee/operate/kubequeue"
	"knee/operate/queue"
)

// engine is a real control plane. Every test has its own nodes, since those of
// another test may still hold its pods. The training operator makes the pods of PyTorchJobs.
type engine struct {
	t      *testing.T
	client *kube.Client
	queue  *kubequeue.Queue
}

func newEngine(t *testing.T) *engine {
	dir := os.Getenv("KNEE_TEST_KUBERNETES")
	if dir == "" {
		t.Skip("no Kubernetes engine; test/integration/kubernetes starts one and sets KNEE_TEST_KUBERNETES")
	}
	client, err := kube.Load(kube.Settings{Kubeconfig: filepath.Join(dir, "kubeconfig")})
	if err != nil {
		t.Fatal(err)
	}
	return &engine{t: t, client: client, queue: kubequeue.New(client, nil, func(c queue.Command) error { t.Log(c); return nil })}
}

// create creates an object that is removed with the test.
func (e *engine) create(collection, name string, object map[string]any) {
	e.t.Helper()
	if err := e.client.Create(e.t.Context(), collection, object, nil, false); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		_ = e.client.Delete(context.Background(), collection+"/"+name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground), GracePeriodSeconds: new(int64)})
	})
}

// pod is a pod template with a container that asks for GPUs.
func pod(gpus int) map[string]any {
	return map[string]any{"spec": map[string]any{"restartPolicy": "Never", "tolerations": []any{map[string]any{"operator": "Exists"}},
		"containers": []any{map[string]any{"name": "pytorch", "image": "any", "command": []any{"sleep", "600"}, "resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": fmt.Sprint(gpus)}}}}}}
}

// find is a job of the queue by name.
func (e *engine) find(name string) queue.Job {
	e.t.Helper()
	s, err := e.queue.Read(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	for _, j := range s.Jobs {
		if j.Name == name {
			return j
		}
	}
	e.t.Fatalf("the queue has no job %s: %+v", name, s.Jobs)
	return queue.Job{}
}

// apply carries a plan of one job out.
func (e *engine) apply(j queue.Job, action data.Action, to ...data.NodeShare) *apply.Change {
	e.t.Helper()
	r := &apply.Runner{Scheduler: e.queue, Deadline: time.Minute}
	changes, err := r.Run(e.t.Context(), &data.Plan{Jobs: []data.PlannedJob{{Name: j.Name, ID: j.ID, Action: action, Was: j.Nodes, Placement: to}}}, false)
	if err != nil || len(changes) != 1 {
		e.t.Fatalf("%v, %v", changes, err)
	}
	return changes[0]
}

func TestEngineStartsAJobOnItsNodes(t *testing.T) {
	e := newEngine(t)
	e.create("/apis/batch/v1/namespaces/default/jobs", "knee-queue-job", map[string]any{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": "knee-queue-job", "annotations": map[string]any{"knee/held": "true", "owner": "stays"}},
		"spec":     map[string]any{"suspend": true, "parallelism": 1, "template": pod(2)}})
	j := e.find("knee-queue-job")
	if !j.HeldByUs || j.State != queue.Pending || j.Requested != 2 || j.Fixed != "" {
		t.Fatalf("%+v", j)
	}
	if c := e.apply(j, data.Start, data.NodeShare{Node: "knee-queue-2", Workers: 4}); c.Status != apply.Done {
		t.Fatalf("%+v", c)
	}
	if c := e.apply(e.find("knee-queue-job"), data.Start, data.NodeShare{Node: "knee-queue-2", Workers: 4}); c.Status != apply.Already {
		t.Errorf("a second time: %+v", c)
	}
	if j = e.find("knee-queue-job"); j.Fixed == "" || j.GPUType != "a100" {
		t.Errorf("a Job that has started: %+v", j)
	}
}

func TestEngineMovesAPyTorchJob(t *testing.T) {
	e := newEngine(t)
	const jobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
	if err := e.client.Get(t.Context(), jobs, &kube.List[kube.Object]{}); kube.IsNotFound(err) {
		t.Skip("the definition of PyTorchJob is not loaded; test/engines/kubernetes/crds does it")
	}
	e.create(jobs, "knee-queue-torch", map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
		"metadata": map[string]any{"name": "knee-queue-torch"},
		"spec":     map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"replicas": 1, "template": pod(2)}}}})
	var j queue.Job
	for range 240 {
		if j = e.find("knee-queue-torch"); j.State == queue.Running {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	if j.State != queue.Running {
		t.Fatalf("it does not run within a minute: %+v", j)
	}
	to := []data.NodeShare{{Node: "knee-torch-1", Workers: 2}, {Node: "knee-torch-3", Workers: 4}}
	if j.Nodes[0].Node == "knee-torch-1" {
		to[0].Node = "knee-torch-2"
	}
	if c := e.apply(j, data.Grow, to...); c.Status != apply.Done {
		t.Fatalf("%+v", c)
	}
	if j = e.find("knee-queue-torch"); j.Workers != 6 || j.Requested != 2 || j.Held {
		t.Errorf("%+v", j)
	}
	if c := e.apply(j, data.Pause); c.Status != apply.Done {
		t.Errorf("pause: %+v", c)
	}
	j = e.find("knee-queue-torch")
	if err := e.queue.Start(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	if j = e.find("knee-queue-torch"); j.Workers != 2 {
		t.Errorf("at the size its owner asked for: %+v", j)
	}
}
