package kubequeue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	put(spec, w.kind.list, clone(at(w.Spec, w.kind.list)))
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
	scaled := read(`"enableInTreeAutoscaling":true,`)
	if why := fixed(scaled, roles, queue.Job{}); why == "" {
		t.Error("a job that Ray scales can be changed")
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

func TestSuspended(t *testing.T) {
	if pytorch(t, "").suspended() || !pytorch(t, `"runPolicy":{"suspend":true},`).suspended() {
		t.Error("whether a job is suspended was not read")
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
