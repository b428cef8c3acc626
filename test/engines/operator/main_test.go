package main

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Pods of a RayJob learn the number of its workers, the default of which is one, and
// the template keeps what it had.
func TestRanked(t *testing.T) {
	var j job
	err := json.Unmarshal([]byte(`{"spec": {"rayClusterSpec": {
		"headGroupSpec": {"template": {"spec": {"containers": [{"name": "head", "env": [{"name": "A", "value": "1"}]}]}}},
		"workerGroupSpecs": [{"groupName": "a", "replicas": 3}, {"groupName": "b"}]}}}`), &j)
	if err != nil {
		t.Fatal(err)
	}
	if groups := j.groups(); len(groups) != 3 || *groups["a"].Replicas != 3 || groups["b"].Replicas != nil {
		t.Errorf("groups %v", groups)
	}
	want := []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "WORLD_SIZE", "value": "4"}}
	for range 2 {
		spec := j.ranked(j.Spec.Ray.Head).(map[string]any)
		if env := spec["containers"].([]any)[0].(map[string]any)["env"]; !reflect.DeepEqual(env, want) {
			t.Errorf("environment %v, want %v", env, want)
		}
	}
}
