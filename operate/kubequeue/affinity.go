package kubequeue

import (
	"encoding/json"
	"slices"
)

// hostname is the label by which pods are bound to nodes.
const hostname = "kubernetes.io/hostname"

// affinityPath is where a pod template says on which nodes its pods may be.
var affinityPath = []string{"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}

// bound returns the terms of a pod template with one more requirement in each:
// the node is one of nodes. What was required by an earlier call, of the nodes
// in was, is taken out; what the owner of the job requires stays. No nodes
// require nothing. The result is nil if nothing is left.
func bound(template map[string]any, was, nodes []string) []any {
	terms, _ := at(template, affinityPath).([]any)
	var out []any
	for _, t := range terms {
		term, _ := clone(t).(map[string]any)
		var rest []any
		list, _ := term["matchExpressions"].([]any)
		for _, e := range list {
			if !ours(e, was) {
				rest = append(rest, e)
			}
		}
		if rest == nil {
			delete(term, "matchExpressions")
		} else {
			term["matchExpressions"] = rest
		}
		if len(term) > 0 {
			out = append(out, term)
		}
	}
	if len(nodes) == 0 {
		return out
	}
	if len(out) == 0 { // terms are alternatives: none is not one that is empty
		out = []any{map[string]any{}}
	}
	for _, t := range out {
		term := t.(map[string]any)
		list, _ := term["matchExpressions"].([]any)
		term["matchExpressions"] = append(slices.Clone(list), map[string]any{"key": hostname, "operator": "In", "values": nodes})
	}
	return out
}

// ours reports whether a requirement is the one for the nodes in was.
func ours(expression any, was []string) bool {
	e, _ := expression.(map[string]any)
	if len(was) == 0 || e["key"] != hostname || e["operator"] != "In" {
		return false
	}
	values, _ := e["values"].([]any)
	return slices.EqualFunc(values, was, func(v any, n string) bool { return v == n })
}

// clone copies a value of JSON.
func clone[T any](v T) T {
	var out T
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &out) // what was marshalled can be read
	}
	return out
}
