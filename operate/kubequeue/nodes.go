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
	"knee/operate/queue"
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
		pod, err := w.pod(r, to)
		if err != nil {
			return fmt.Sprintf("read its pod template: %v", err)
		}
		if pod == nil {
			continue
		}
		required := nodeaffinity.GetRequiredNodeAffinity(pod)
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
			if lacks := n.lacks(manifest.Requests(pod), s.Workers/max(1, r.gpus)); lacks != "" {
				return fmt.Sprintf("node %s has %s, besides what pods have that stay", s.Node, lacks)
			}
		}
	}
	return ""
}

// usable lists the nodes that have the labels which a job's pods ask for, nil if all have.
func (q *Queue) usable(c *data.Cluster, w workload, roles []role) []string {
	var required []nodeaffinity.RequiredNodeAffinity
	for _, r := range roles {
		if pod, err := w.pod(r, nil); err == nil && pod != nil { // Check says what cannot be read
			required = append(required, nodeaffinity.GetRequiredNodeAffinity(pod))
		}
	}
	return queue.Usable(c, func(name string) bool {
		return !slices.ContainsFunc(required, func(r nodeaffinity.RequiredNodeAffinity) bool {
			fits, err := r.Match(&q.nodes[name].Node)
			return err != nil || !fits
		})
	})
}

// pod is a pod of a role when its GPUs are to be on nodes; nil if its template is in the
// runtime of a TrainJob, or it may be anywhere, as it has no GPUs.
func (w workload) pod(r role, to []data.NodeShare) (*corev1.Pod, error) {
	template, _ := runtime.DeepCopyJSONValue(at(w.Spec, r.template)).(map[string]any)
	if template == nil || r.gpus == 0 {
		return nil, nil
	}
	if terms := w.terms(r, to); terms != nil {
		put(template, affinityPath, terms)
	} else if at(template, affinityPath) != nil { // an empty list would match no node
		put(template, affinityPath[:len(affinityPath)-1], nil)
	}
	var pod corev1.Pod
	return &pod, runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod)
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
