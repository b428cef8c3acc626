package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

const kubernetesHead = "job: a\ncommand: [x]\nspace: {workers: [1]}\nlauncher:\n  kubernetes:\n"

func TestReadStudyKubernetes(t *testing.T) {
	const text = kubernetesHead + `    context: prod
    namespace: team-a
    per: node
    image: registry.example.com/train:1
    gpu_resource: amd.com/gpu
    gpu_label: none
    gpu_types: {a100: NVIDIA-A100-SXM4-80GB}
    requests: {cpu: 8, memory: 32Gi}
    limits: {memory: 32Gi, rdma/hca: 1}
    node_selector: {pool: train}
    labels: {kueue.x-k8s.io/queue-name: batch}
    template:
      spec:
        priorityClassName: low
        containers: [{volumeMounts: [{name: data, mountPath: /data, readOnly: true}]}]
        volumes: [{name: data, emptyDir: {}}]
        securityContext: {runAsUser: 1000}
    max_wait: 1h
    deadline: 2h
`
	got, err := data.ReadStudy(strings.NewReader(text), "s")
	if err != nil {
		t.Fatal(err)
	}
	want := data.LauncherSpec{Kubernetes: &data.KubernetesSpec{Context: "prod", Namespace: "team-a", Per: data.PerNode,
		Image: "registry.example.com/train:1", GPUResource: "amd.com/gpu", GPUTypes: map[string]string{"a100": "NVIDIA-A100-SXM4-80GB"},
		Requests: map[string]string{"cpu": "8", "memory": "32Gi"}, Limits: map[string]string{"memory": "32Gi", "rdma/hca": "1"},
		NodeSelector: map[string]string{"pool": "train"}, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "batch"},
		Template: map[string]any{"spec": map[string]any{"priorityClassName": "low",
			"containers":      []any{map[string]any{"volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data", "readOnly": true}}}},
			"volumes":         []any{map[string]any{"name": "data", "emptyDir": map[string]any{}}},
			"securityContext": map[string]any{"runAsUser": 1000}}},
		MaxWait: time.Hour, Deadline: 2 * time.Hour}}
	if diff := cmp.Diff(want, got.Launcher); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadStudyKubernetesDefaults(t *testing.T) {
	got, err := data.ReadStudy(strings.NewReader(kubernetesHead+"    image: i\n"), "s")
	if err != nil {
		t.Fatal(err)
	}
	want := data.LauncherSpec{Kubernetes: &data.KubernetesSpec{Per: data.PerWorker, Image: "i",
		GPUResource: "nvidia.com/gpu", GPULabel: "nvidia.com/gpu.product", MaxWait: 30 * time.Minute, Deadline: 6 * time.Hour}}
	if diff := cmp.Diff(want, got.Launcher); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadStudyKubernetesRefuses(t *testing.T) {
	with := func(s string) string { return kubernetesHead + "    image: i\n    " + s + "\n" }
	const label = "a label value: up to 63 letters, digits, '-', '_' and '.'"
	checkFailures(t, []failure{
		{"container", with("template: {spec: {containers: [train]}}"), `f:7:launcher.kubernetes.template.spec.containers[0]: found "train", want a container: a mapping`},
		{"no image", kubernetesHead + "    per: node\n", "f:5:launcher.kubernetes: found no image, want image: the container image of the trials"},
		{"key", with("imgae: x"), `f:7:launcher.kubernetes.imgae: found an unknown key (did you mean "image"?), want one of kubeconfig, context, namespace, per, image, gpu_resource, gpu_label, gpu_types, requests, limits, node_selector, labels, template, max_wait, deadline`},
		{"per", with("per: gpu"), `f:7:launcher.kubernetes.per: found "gpu", want one of worker, node`},
		{"namespace", with("namespace: a/../b"), `f:7:launcher.kubernetes.namespace: found "a/../b", want the name of a namespace, such as team-a`},
		{"resource", with("gpu_resource: -x"), `f:7:launcher.kubernetes.gpu_resource: found "-x", want a name such as nvidia.com/gpu, or none`},
		{"quantity", with("requests: {cpu: four}"), `f:7:launcher.kubernetes.requests: found "four" for cpu, want a quantity such as 8, 500m or 32Gi`},
		{"selector", with("node_selector: {pool: a b}"), `f:7:launcher.kubernetes.node_selector: found "a b" for pool, want ` + label},
		{"label", with(`labels: {"a b": c}`), `f:7:launcher.kubernetes.labels: found "a b", want a name such as cpu or example.com/name`},
		{"template", with("template: [x]"), "f:7:launcher.kubernetes.template: found a list, want a pod template: a mapping with the keys metadata and spec"},
		{"template key", with("template: {containers: []}"), `f:7:launcher.kubernetes.template.containers: found an unknown key, want metadata or spec`},
		{"template twice", with("template: {spec: {a: 1, a: 2}}"), `f:7:launcher.kubernetes.template.spec.a: found the key twice, want each key once`},
		{"not a number", with("template: {spec: {a: .nan}}"), `f:7:launcher.kubernetes.template.spec.a: found ".nan", want a finite number`},
		{"dir", with("per: node\ndir: src"), `f:8:dir: found a folder of this machine, want no dir: pods run in their image; template.spec.containers[0].workingDir sets the folder there`},
	}, errorOf(data.ReadStudy))
}
