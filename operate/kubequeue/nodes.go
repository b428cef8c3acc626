package kubequeue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"knee/data"
	"knee/internal/manifest"
)

// node is a node, with what pods request of it whose jobs knee cannot change.
type node struct {
	corev1.Node
	taken corev1.ResourceList
}

// stays counts the requests of a pod that stays on its node.
func (q *Queue) stays(p corev1.Pod) {
	n := q.nodes[p.Spec.NodeName]
	if n == nil {
		return
	}
	for name, amount := range manifest.Requests(&p) {
		sum := n.taken[name]
		sum.Add(amount)
		n.taken[name] = sum
	}
}

// unusable returns why Kubernetes would not start a job on nodes, empty if it would
// once their GPUs are free.
func (q *Queue) unusable(w workload, roles []role, to []data.NodeShare) string {
	for i, r := range roles {
		template, _ := runtime.DeepCopyJSONValue(at(w.Spec, r.template)).(map[string]any)
		if template == nil || r.gpus == 0 {
			continue // it is in the runtime of a TrainJob, or its pods may be anywhere
		}
		put(template, affinityPath, w.terms(r, to))
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
			return fmt.Sprintf("read its pod template: %v", err)
		}
		required := nodeaffinity.GetRequiredNodeAffinity(&pod)
		for _, s := range to {
			n := q.nodes[s.Node]
			if n == nil {
				return "there is no node " + s.Node
			}
			if fits, err := required.Match(&n.Node); err != nil || !fits {
				return fmt.Sprintf("node %s does not have the labels that its pods ask for, or its name as label %s", s.Node, hostname)
			}
			if i < len(roles)-1 {
				continue
			}
			if lacks := n.lacks(manifest.Requests(&pod), s.Workers/max(1, r.gpus)); lacks != "" {
				return fmt.Sprintf("node %s has %s, besides what pods have that stay", s.Node, lacks)
			}
		}
	}
	return ""
}

// lacks returns which request of so many pods a node cannot meet, empty if it meets all
// but those for GPUs, which are counted elsewhere.
func (n *node) lacks(each corev1.ResourceList, pods int) string {
	for _, name := range slices.Sorted(maps.Keys(each)) {
		need, free := each[name], n.Status.Allocatable[name]
		free.Sub(n.taken[name])
		if !strings.HasSuffix(string(name), "/gpu") && need.AsApproximateFloat64()*float64(pods) > free.AsApproximateFloat64() {
			return fmt.Sprintf("%s of %s for %s with %s each", free.String(), name, english.Plural(pods, "pod", ""), need.String())
		}
	}
	return ""
}

// terms are the node selector terms of a role's pods when its GPUs are to be on nodes.
func (w workload) terms(r role, to []data.NodeShare) []any {
	if r.gpus == 0 {
		to = nil
	}
	template, _ := at(w.Spec, r.template).(map[string]any)
	return bound(template, strings.Split(w.Annotations[boundTo], ","), names(to))
}

func names(to []data.NodeShare) []string {
	out := []string{}
	for _, s := range to {
		out = append(out, s.Node)
	}
	return out
}
