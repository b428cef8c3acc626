package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/internal/manifest"
)

// Fields without a value go, null ones also those of the pod templates; the pod templates fill in what is missing, in their order.
func TestRead(t *testing.T) {
	const text = `spec: {nodeSelector: {zone: , pool: "7"}, affinity: {podAffinity: {a: }}, volumes: ,
containers: [{command: [x], env: [{name: RANK, value: "0"}], resources: {limits: {gpu: 4, fpga: null}, requests: {fpga: null}}}]}
---
kind: Service
spec: {clusterIP: None}
`
	theirs := map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{"pool": "8", "disk": "ssd"},
		"tolerations": []any{map[string]any{"key": "a", "effect": "NoSchedule"}, map[string]any{"key": "a", "effect": "NoExecute"}},
		"containers": []any{map[string]any{"name": "main", "command": []any{"y"}, "args": []any{"z"}, "resources": map[string]any{"limits": map[string]any{"gpu": 9, "cpu": 1, "fpga": 2}, "requests": map[string]any{"fpga": 2}},
			"env": []any{map[string]any{"name": "RANK", "value": "1"}, map[string]any{"name": "KEPT", "value": "true"}}}, map[string]any{"name": "side"}}}}
	defaults := map[string]any{"spec": map[string]any{"tolerations": []any{map[string]any{"key": "a"}, map[string]any{"key": "b"}}, "containers": []any{map[string]any{"name": "trial"}}}}
	documents, err := manifest.Read([]byte(text), theirs, defaults)
	if err != nil || len(documents) != 2 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	var pod, service map[string]any
	if err := documents[0].Decode(&pod); err != nil {
		t.Fatal(err)
	}
	if err := documents[1].Decode(&service); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{"pool": "7", "disk": "ssd"},
		"tolerations": []any{map[string]any{"key": "a", "effect": "NoSchedule"}, map[string]any{"key": "a", "effect": "NoExecute"}, map[string]any{"key": "b"}},
		"containers": []any{map[string]any{"name": "main", "command": []any{"x"}, "resources": map[string]any{"limits": map[string]any{"gpu": 4, "cpu": 1}},
			"env": []any{map[string]any{"name": "RANK", "value": "0"}, map[string]any{"name": "KEPT", "value": "true"}}}, map[string]any{"name": "side"}}}}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"kind": "Service", "spec": map[string]any{"clusterIP": "None"}}, service); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
}

// Node selector terms are alternatives: what a manifest requires holds in each of a template's.
func TestNodeSelectorTerms(t *testing.T) {
	const text = `spec: {affinity: {nodeSelectorTerms: [{matchExpressions: [{key: host, values: [a]}]}]}, containers: [{name: c}]}`
	theirs := map[string]any{"spec": map[string]any{"affinity": map[string]any{"nodeSelectorTerms": []any{
		map[string]any{"matchExpressions": []any{map[string]any{"key": "host", "values": []any{"a", "b"}}}},
		map[string]any{"matchFields": []any{map[string]any{"key": "name"}}}}}}}
	documents, err := manifest.Read([]byte(text+"\n---\n"+text), theirs)
	if err != nil || len(documents) != 2 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	ours := map[string]any{"key": "host", "values": []any{"a"}}
	want := map[string]any{"nodeSelectorTerms": []any{
		map[string]any{"matchExpressions": []any{ours, map[string]any{"key": "host", "values": []any{"a", "b"}}}},
		map[string]any{"matchExpressions": []any{ours}, "matchFields": []any{map[string]any{"key": "name"}}}}}
	for _, d := range documents {
		var pod struct {
			Spec struct{ Affinity map[string]any }
		}
		if err := d.Decode(&pod); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pod.Spec.Affinity); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{{"a\"\t\u2028", `"a\"\t\u2028"`}, {[]string{"a", ""}, `["a", ""]`}, {map[string]any{"b": 4, "a": "x"}, `{"a": "x", "b": 4}`}} {
		if got := manifest.Quote(c.value); got != c.want || manifest.Given(c.value) != c.want {
			t.Errorf("%q: %s, want %s", c.value, got, c.want)
		}
	}
	if manifest.Given("")+manifest.Given([]string{})+manifest.Given(map[string]any{}) != "" {
		t.Error("an empty value is written")
	}
}
