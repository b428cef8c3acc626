//go:build unix

package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
)

func TestKubernetesEnginePreemption(t *testing.T) {
	e := newEngine(t)
	high := map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "urgent"}, "value": 1000}
	if err := e.client.Create(t.Context(), "/apis/scheduling.k8s.io/v1/priorityclasses", high, nil, false); err != nil && !kube.IsConflict(err) {
		t.Fatal(err)
	}
	r := e.launch(workers(8), steps("600", "0.1")) // all A100s
	e.step(r, 2)
	urgent := newEngine(t)
	urgent.spec.Template = map[string]any{"spec": map[string]any{"priorityClassName": "urgent"}}
	second := workers(2)
	second.ID, second.Attempt = 2, 1
	other := urgent.launch(second, steps("5", "0.1"))
	if f := e.failure(e.end(r)); !f.Preempted || !strings.Contains(f.Detail, "PreemptionByScheduler") {
		t.Errorf("%+v, want preemption by the scheduler", f)
	}
	if err := urgent.end(other); err != nil {
		t.Errorf("the urgent trial: %v", err)
	}
}

func TestKubernetesEngineEviction(t *testing.T) {
	e := newEngine(t)
	r := e.launch(workers(2), steps("600", "0.1"))
	e.step(r, 2)
	name := strings.TrimPrefix(r.handle, "default/")
	pods, _, err := kube.ListAll[corev1.Pod](t.Context(), e.client, kube.PodsPath("default"), metav1.ListOptions{LabelSelector: "knee/run=" + name})
	if err != nil || len(pods) != 2 {
		t.Fatalf("%d pods, %v", len(pods), err)
	}
	pod := pods[1].Name
	eviction := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": pod, "namespace": "default"}}
	if err := e.client.Create(t.Context(), kube.PodPath("default", pod)+"/eviction", eviction, nil, false); err != nil {
		t.Fatal(err)
	}
	if f := e.failure(e.end(r)); !f.Preempted || !strings.Contains(f.Detail, "EvictionByEvictionAPI") {
		t.Errorf("%+v, want an eviction", f)
	}
}

func TestKubernetesEngineNodeLost(t *testing.T) {
	e := newEngine(t)
	e.spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "a2"}
	e.spec.Template = map[string]any{"spec": map[string]any{"tolerations": []any{
		map[string]any{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}}}}
	r := e.launch(workers(1), steps("6000", "0.1"))
	e.step(r, 2)
	lost := filepath.Join(e.dir, "lost")
	if err := os.MkdirAll(lost, 0o755); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(lost, "a2")
	if err := os.WriteFile(node, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer e.reachable()
	defer os.Remove(node)
	if f := e.failure(e.end(r)); !f.Preempted || !strings.Contains(f.Detail, "DeletionByTaintManager") {
		t.Errorf("%+v, want a lost node", f)
	}
}

func TestKubernetesEngineServerRestarts(t *testing.T) {
	e := newEngine(t)
	script, err := filepath.Abs("../../test/engines/kubernetes/apiserver")
	if err != nil {
		t.Fatal(err)
	}
	trial := workers(2)
	r := e.launch(trial, steps("150", "0.1"))
	e.step(r, 5)
	defer e.reachable()
	e.sh(script, "stop", e.dir)
	time.Sleep(2 * time.Second)
	e.sh(script, "start", e.dir)
	if err := e.end(r); err != nil {
		t.Fatal(err)
	}
	// Five or more were taken by e.step; the rest must follow without a gap.
	last := 0.0
	for len(r.obs) > 0 {
		o := <-r.obs
		if last > 0 && o.Step != last+1 {
			t.Errorf("step %g after step %g", o.Step, last)
		}
		last = o.Step
	}
	if last != 150 {
		t.Errorf("the last step is %g, want 150", last)
	}
	if text, _ := os.ReadFile(r.log); !strings.Contains(string(text), "reach the API server") {
		t.Error("the log does not speak of the outage: was there one?")
	}
}
