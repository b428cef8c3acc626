package kubequeue

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// hostname is the node label that binds pods to nodes.
const hostname = "kubernetes.io/hostname"

// affinityPath is the path in a pod template of the nodes its pods may be on.
var affinityPath = []string{"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}

// bound returns the node selector terms of a pod template with one more requirement in
// each: the node is one of nodes. That of an earlier call for the nodes in was is
// removed; those of the job's owner stay. The result is nil if no term is left.
func bound(template map[string]any, was, nodes []string) []any {
	terms, _ := at(template, affinityPath).([]any)
	var out []any
	for _, t := range terms {
		term, _ := runtime.DeepCopyJSONValue(t).(map[string]any)
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
	if len(out) == 0 { // terms are alternatives; there must be one to hold the requirement
		out = []any{map[string]any{}}
	}
	for _, t := range out {
		term := t.(map[string]any)
		list, _ := term["matchExpressions"].([]any)
		term["matchExpressions"] = append(slices.Clone(list), map[string]any{"key": hostname, "operator": "In", "values": nodes})
	}
	return out
}

// ours reports whether a requirement is the one that knee made for the nodes in was.
func ours(expression any, was []string) bool {
	e, _ := expression.(map[string]any)
	if len(was) == 0 || e["key"] != hostname || e["operator"] != "In" {
		return false
	}
	values, _ := e["values"].([]any)
	return slices.EqualFunc(values, was, func(v any, n string) bool { return v == n })
}
