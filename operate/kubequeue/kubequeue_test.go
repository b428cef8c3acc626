package kubequeue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/data"
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
	w.kind = kinds()[1]
	return w
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
