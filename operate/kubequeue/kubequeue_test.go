package kubequeue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"knee/data"
	"knee/operate/queue"
)

// pytorch is a PyTorchJob with a master and three workers of two GPUs each.
func pytorch(t *testing.T, more string) workload {
	t.Helper()
	const pod = `{"spec":{"tolerations":[{"key":"x"}],"containers":[{"name":"pytorch","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}`
	var w workload
	err := json.Unmarshal([]byte(`{"metadata":{"name":"a","namespace":"b","uid":"u"},"spec":{`+more+
		`"pytorchReplicaSpecs":{"Master":{"template":`+pod+`},"Worker":{"replicas":3,"template":`+pod+`}}}}`), &w)
	if err != nil {
		t.Fatal(err)
	}
	w.kind = kindOf("PyTorchJob")
	return w
}

func kindOf(name string) kind {
	return kinds()[slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name })]
}

// A RayJob has a head without GPUs, which stays, and one group of workers.
func TestRayJob(t *testing.T) {
	read := func(more string) workload {
		t.Helper()
		w := workload{kind: kindOf("RayJob")}
		if err := json.Unmarshal([]byte(`{"spec":{"suspend":true,"rayClusterSpec":{`+more+`"headGroupSpec":{"template":{"spec":{"containers":[{"name":"head"}]}}},
			"workerGroupSpecs":[{"groupName":"gpu","replicas":2,"minReplicas":1,"maxReplicas":4,"template":{"spec":{"containers":[{"name":"w","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}}]}}}`), &w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := read("")
	roles, err := w.roles()
	if err != nil || len(roles) != 2 || roles[1].pods != 2 || fixed(w, roles, queue.Job{}) != "" || !w.suspended() {
		t.Fatalf("%+v, %v, %s", roles, err, fixed(w, roles, queue.Job{}))
	}
	if got, err := replicas(w, []data.NodeShare{{Node: "n1", Workers: 4}, {Node: "n2", Workers: 4}}); err != nil || !cmp.Equal(got, []int{1, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := replicas(w, []data.NodeShare{{Node: "n1", Workers: 10}}); err == nil {
		t.Errorf("more than maxReplicas: %v", got)
	}
	spec := map[string]any{}
	put(spec, w.kind.list, runtime.DeepCopyJSONValue(at(w.Spec, w.kind.list)))
	put(spec, roles[1].replicas, 4)
	put(spec, append(slices.Clone(roles[1].template), affinityPath...), []any{"x"})
	text := again(t, spec)
	for _, want := range []string{`"groupName":"gpu"`, `"replicas":4`, `"nodeSelectorTerms":["x"]`, `"nvidia.com/gpu":"2"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the patch has no %s: %s", want, text)
		}
	}
	if strings.Contains(again(t, w.Spec), "affinity") {
		t.Error("a patch has changed the job that was read")
	}
	patch := map[string]any{}
	w.resume(map[string]any{}, patch, roles[:1], []data.NodeShare{{Node: "n1", Workers: 2}})
	if strings.Contains(again(t, patch), "affinity") {
		t.Errorf("a head without GPUs is bound to a node: %s", again(t, patch))
	}
	scaled := read(`"enableInTreeAutoscaling":true,`)
	if why := fixed(scaled, roles, queue.Job{}); why == "" {
		t.Error("a job that Ray scales can be changed")
	}
}

// A waiting job of Kueue can be resized, a running one only if it is elastic, and one
// with completions only if they are indexed.
func TestKueue(t *testing.T) {
	const template = `"template":{"spec":{"containers":[{"name":"w","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}`
	for _, c := range []struct{ name, notes, spec, fixed, patch string }{
		{"Job", "", `"suspend":true,"parallelism":1,` + template, "", `{"parallelism":4}`},
		{"Job", "", `"suspend":true,"parallelism":2,"completions":2,"completionMode":"Indexed",` + template, "", `{"completions":4,"parallelism":4}`},
		{"Job", "", `"suspend":true,"parallelism":2,"completions":2,` + template, "has no index", ""},
		{"Job", "", `"suspend":false,"parallelism":1,` + template, "has admitted it", ""},
		{"Job", `"kueue.x-k8s.io/elastic-job":"true"`, `"suspend":false,"parallelism":1,` + template, "", `{"parallelism":4}`},
		{"TrainJob", "", `"suspend":true,"trainer":{"numNodes":1,"resourcesPerNode":{"limits":{"nvidia.com/gpu":"2"}}}`, "", `{"trainer":{"numNodes":4}}`},
		{"TrainJob", "", `"suspend":false,"trainer":{"numNodes":1,"resourcesPerNode":{"limits":{"nvidia.com/gpu":"2"}}}`, "has admitted it", ""},
	} {
		w := workload{kind: kindOf(c.name)}
		text := `{"metadata":{"name":"a","namespace":"b","uid":"u","labels":{"kueue.x-k8s.io/queue-name":"q"},"annotations":{` + c.notes + `}},"spec":{` + c.spec + `}}`
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		q := &Queue{jobSets: map[string]int{"b/a": 3}}
		j, err := q.job(w, nil, map[types.UID]bool{})
		if err != nil || !strings.Contains(j.Fixed, c.fixed) || (j.Fixed == "") != (c.fixed == "") || c.patch != "" && !j.InPlace || j.Held {
			t.Errorf("%s: %v, %+v", text, err, j)
		}
		if c.patch == "" {
			continue
		}
		if c.name == "TrainJob" && j.Workers != 6 {
			t.Errorf("%d workers, want those of its JobSet", j.Workers)
		}
		roles, err := w.roles()
		if err != nil {
			t.Fatal(err)
		}
		counts, err := replicas(w, []data.NodeShare{{Node: "n1", Workers: 8}})
		if err != nil {
			t.Fatal(err)
		}
		spec := map[string]any{}
		w.resize(spec, roles, counts)
		if got := again(t, spec); got != c.patch {
			t.Errorf("%s: patch %s, want %s", text, got, c.patch)
		}
	}
}

// A custom resource keeps the number that its owner wrote without quotes.
func TestGPUsAsANumber(t *testing.T) {
	w := pytorch(t, "")
	path := []string{"pytorchReplicaSpecs", "Worker", "template", "spec", "containers", "0", "resources", "limits"}
	limits := at(w.Spec, path).(map[string]any)
	for quantity, want := range map[any]int{2.0: 2, "3": 3} {
		limits["nvidia.com/gpu"] = quantity
		if roles, err := w.roles(); err != nil || roles[1].gpus != want {
			t.Errorf("%v: %+v, %v", quantity, roles, err)
		}
	}
	limits["nvidia.com/gpu"] = 1.5
	if _, err := w.roles(); err == nil || !strings.Contains(err.Error(), `"1500m" of nvidia.com/gpu, want a whole number`) {
		t.Errorf("half a GPU: %v", err)
	}
}

// The log of a job is that of rank 0, whatever its pods are called.
func TestByRank(t *testing.T) {
	pod := func(name string, gpus int, labels ...string) corev1.Pod {
		p := corev1.Pod{}
		text := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"%d"}}}]}}`, name, strings.Join(labels, ","), gpus)
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	index := func(n int) string { return fmt.Sprintf(`"batch.kubernetes.io/job-completion-index":"%d"`, n) }
	for want, pods := range map[string][]corev1.Pod{
		"job-zz":   {pod("job-aa", 1, index(1)), pod("job-zz", 1, index(0))},
		"a-master": {pod("a-0", 1, `"training.kubeflow.org/replica-type":"worker","training.kubeflow.org/replica-index":"0"`), pod("a-master", 1, `"training.kubeflow.org/replica-type":"master"`)},
		"w-2":      {pod("w-10", 1, `"training.kubeflow.org/replica-index":"10"`), pod("w-2", 1, `"training.kubeflow.org/replica-index":"2"`)},
		"t-node-0": {pod("t-dataset-initializer-0", 0, index(0)), pod("t-node-0", 2, index(0))},
	} {
		if got := slices.MinFunc(pods, byRank).Name; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	q := &Queue{nodes: map[string]*node{}}
	for _, name := range []string{"n1", "n2", "n3"} {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hostname: name, "disk": "ssd"}}}
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("16"), "nvidia.com/gpu": resource.MustParse("8")}
		q.nodes[name] = &node{n, corev1.ResourceList{}}
	}
	all := &data.Cluster{Nodes: []data.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"}}}
	q.nodes["n4"] = &node{corev1.Node{}, corev1.ResourceList{}} // which no job of the test may use
	q.nodes["n2"].Labels["disk"] = "hdd"
	q.nodes["n3"].Labels[hostname] = "n3.example"
	var other corev1.Pod
	other.Spec = corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("9")}}}}}
	q.stays(other)
	ray := workload{kind: kindOf("RayJob")}
	ray.Spec = parsed(t, `{"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{"nodeSelector":{"pool":"cpu"},"containers":[{"name":"head"}]}}},
		"workerGroupSpecs":[{"replicas":1,"template":{"spec":{"containers":[{"name":"w","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}}]}}`).(map[string]any)
	if got := q.Check(queue.Job{Resizable: true, Handle: ray}, []data.NodeShare{{Node: "n1", Workers: 4}}); got != "" {
		t.Errorf("a job whose head is on other nodes: %q", got)
	}
	const affinity = `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]},{"key":"kubernetes.io/hostname","operator":"In","values":["n2"]}]}]}}},`
	for _, c := range []struct{ spec, node, want string }{
		{``, "n1", ""},
		{`"nodeSelector":{"disk":"ssd"},`, "n1", ""},
		{`"nodeSelector":{"disk":"ssd"},`, "n2", "node n2 does not have the labels"},
		{affinity, "n1", ""}, // where it was bound to before does not count
		{affinity, "n2", "node n2 does not have the labels"},
		{``, "n9", "no node n9"},
		{``, "n3", "its name as label kubernetes.io/hostname"},
		{`"overhead":{"cpu":"2"},`, "n1", ""},
		{`"initContainers":[{"resources":{"limits":{"cpu":"4"}}}],`, "n1", "node n1 has 7 of cpu for 2 pods with 4 each"},
		{`"initContainers":[{"resources":{"limits":{"cpu":"4"}}}],`, "n2", ""},
	} {
		w := workload{kind: kindOf("PyTorchJob")}
		w.Annotations = map[string]string{boundTo: "n2"}
		w.Spec = parsed(t, `{"pytorchReplicaSpecs":{"Worker":{"replicas":1,"template":{"spec":{`+c.spec+`"containers":[{"name":"pytorch","resources":{"limits":{"nvidia.com/gpu":2}}}]}}}}}`).(map[string]any)
		roles, err := w.roles()
		if usable := q.usable(all, w, roles); err != nil || c.node == "n2" && (usable == nil || slices.Contains(usable, "n2")) == strings.Contains(c.want, "labels") {
			t.Errorf("%s: usable %v, %v", c.spec, usable, err)
		}
		got := q.Check(queue.Job{Resizable: true, Handle: w}, []data.NodeShare{{Node: c.node, Workers: 4}})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s on %s: %q, want %q", c.spec, c.node, got, c.want)
		}
	}
}

func TestReplicas(t *testing.T) {
	for _, c := range []struct {
		more string
		to   []data.NodeShare
		want []int
		err  string
	}{
		{"", []data.NodeShare{{Node: "n1", Workers: 4}, {Node: "n2", Workers: 6}}, []int{1, 4}, ""},
		{"", []data.NodeShare{{Node: "n1", Workers: 2}}, []int{1, 0}, ""},
		{"", []data.NodeShare{{Node: "n1", Workers: 3}}, nil, "no multiple"},
		{`"elasticPolicy":{"minReplicas":2,"maxReplicas":4},`, []data.NodeShare{{Node: "n1", Workers: 4}}, nil, "minReplicas"},
		{`"elasticPolicy":{"minReplicas":2,"maxReplicas":4},`, []data.NodeShare{{Node: "n1", Workers: 12}}, nil, "maxReplicas"},
		{`"elasticPolicy":{"minReplicas":2,"maxReplicas":4},`, []data.NodeShare{{Node: "n1", Workers: 8}}, []int{1, 3}, ""},
	} {
		got, err := replicas(pytorch(t, c.more), c.to)
		if !cmp.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v; want %v, %s", c.to, got, err, c.want, c.err)
		}
	}
}

func TestEnded(t *testing.T) {
	for status, want := range map[string]string{
		`{}`: "false, false, ",
		`{"conditions":[{"type":"Running","status":"True"},{"type":"Failed","status":"False"}]}`: "false, false, ",
		`{"conditions":[{"type":"Succeeded","status":"True","message":"all pods"}]}`:             "true, true, Succeeded: all pods",
		`{"conditions":[{"type":"Failed","status":"True","message":"pod a"}]}`:                   "true, false, Failed: pod a",
		`{"jobStatus":"RUNNING","jobDeploymentStatus":"Running"}`:                                "false, false, ",
		`{"jobStatus":"SUCCEEDED","jobDeploymentStatus":"Complete","message":"done"}`:            "true, true, SUCCEEDED: done",
		`{"jobStatus":"FAILED","jobDeploymentStatus":"Complete","message":"exit code 1"}`:        "true, false, FAILED: exit code 1",
		`{"jobStatus":"STOPPED"}`:                              "true, false, STOPPED: ",
		`{"jobDeploymentStatus":"Failed","message":"no head"}`: "true, false, Failed: no head",
	} {
		var w workload
		if err := json.Unmarshal([]byte(`{"status":`+status+`}`), &w); err != nil {
			t.Fatal(err)
		}
		how, well := w.verdict()
		if got := fmt.Sprintf("%v, %v, %s", w.ended(), well, how); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

func TestSuspended(t *testing.T) {
	if pytorch(t, "").suspended() || !pytorch(t, `"runPolicy":{"suspend":true},`).suspended() {
		t.Error("whether a job is suspended was not read")
	}
}

// A head on a node without GPUs is no worker, whichever pod comes first.
func TestHeadOnANodeWithoutGPUs(t *testing.T) {
	q := &Queue{types: map[string]string{"c": "cpu", "g1": "t4", "g2": "t4"}, nodes: map[string]*node{}}
	w := workload{kind: kindOf("RayJob")}
	text := func(node, resources string) string {
		return `{"metadata":{"uid":"` + node + `"},"spec":{"nodeName":"` + node + `","containers":[{"name":"c","resources":{` + resources + `}}]}}`
	}
	all := []string{text("c", `"requests":{"cpu":"4"}`), text("g1", `"limits":{"nvidia.com/gpu":"2"}`), text("g2", `"limits":{"nvidia.com/gpu":"2"}`)}
	for range all {
		all = append(all[1:], all[0])
		var pods []corev1.Pod
		if err := json.Unmarshal([]byte("["+strings.Join(all, ",")+"]"), &pods); err != nil {
			t.Fatal(err)
		}
		j, err := q.job(w, pods, map[types.UID]bool{})
		if err != nil {
			t.Fatal(err)
		}
		if queue.Workers(j.Nodes) != 4 || len(j.Nodes) != 2 || j.GPUType != "t4" {
			t.Errorf("%+v of %s, want 2 GPUs of type t4 on each of two nodes", j.Nodes, j.GPUType)
		}
	}
}

// What the owner of a job requires of nodes stays, whatever knee binds it to.
func TestBound(t *testing.T) {
	const owner = `{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
		{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},{"matchFields":[{"key":"metadata.name","operator":"In","values":["n9"]}]}]}}}}}`
	for _, text := range []string{`{}`, owner} {
		var template map[string]any
		if err := json.Unmarshal([]byte(text), &template); err != nil {
			t.Fatal(err)
		}
		first := again(t, bound(template, nil, []string{"n1", "n2"}))
		if got := strings.Count(first, hostname); got != max(1, strings.Count(text, "match")) {
			t.Errorf("%s: %d terms name the nodes: %s", text, got, first)
		}
		put(template, affinityPath, parsed(t, first))
		second := again(t, bound(template, []string{"n1", "n2"}, []string{"n3"}))
		if strings.Contains(second, "n1") || !strings.Contains(second, "n3") {
			t.Errorf("bound to other nodes: %s", second)
		}
		put(template, affinityPath, parsed(t, second))
		var before map[string]any
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			t.Fatal(err)
		}
		last := bound(template, []string{"n3"}, nil)
		if diff := cmp.Diff(at(before, affinityPath), parsed(t, again(t, last))); diff != "" {
			t.Errorf("%s: unbound (-want +got):\n%s", text, diff)
		}
	}
}

func again(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
