package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/data"
)

// productLabels hold the GPU type: feature discovery of NVIDIA and AMD, and GKE.
func productLabels() []string {
	return []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator"}
}

// Cluster describes the nodes of a cluster as [Describe] does.
func Cluster(ctx context.Context, c *Client) (*data.Cluster, []string, error) {
	nodes, err := Nodes(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	out, warnings := Describe(nodes)
	return out, warnings, nil
}

// Nodes lists the nodes of a cluster, at least one.
func Nodes(ctx context.Context, c *Client) ([]corev1.Node, error) {
	nodes, _, err := ListAll[corev1.Node](ctx, c, NodesPath(), metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of %s: %w", c.Server, err)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the cluster at %s has no nodes", c.Server)
	}
	return nodes, nil
}

// Describe converts nodes, and sorts them by name.
//
// GPUs are the allocatable whole devices of a node (nvidia.com/gpu, or the same resource of
// another vendor), their type is from the product label. A node without GPUs has the type cpu and
// a worker slot for each whole core. Drained are nodes that are cordoned, not ready, or tainted
// against pods that tolerate only GPU taints. The warnings name slices and other resources of
// GPUs, which are left out, and GPUs of unknown type.
func Describe(nodes []corev1.Node) (*data.Cluster, []string) {
	out := &data.Cluster{}
	var warnings []string
	for _, n := range nodes {
		node, w := describe(n)
		out.Nodes = append(out.Nodes, node)
		warnings = append(warnings, w...)
	}
	slices.SortFunc(out.Nodes, func(a, b data.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out, warnings
}

// partOfGPU matches resources that are slices of GPUs, or further ones; not what is beside
// them, such as network cards, or counts the same ones, such as millicores.
var partOfGPU = regexp.MustCompile(`/gpu|^nvidia\.com/mig-|^gpu\.intel\.com/(i915|xe)$`)

func describe(n corev1.Node) (out data.Node, warnings []string) {
	free := n.Status.Allocatable
	out = data.Node{Name: n.Name, GPUType: "cpu", Drained: drained(n), CPUs: free.Cpu().AsApproximateFloat64(), Memory: free.Memory().Value()}
	for _, resource := range slices.Sorted(maps.Keys(free)) {
		quantity, name := free[resource], string(resource)
		count := int(quantity.Value())
		switch {
		case count == 0:
		case strings.HasSuffix(name, "/gpu") && out.GPUs == 0:
			out.GPUs, out.GPUType = count, productOf(n)
		case partOfGPU.MatchString(name):
			warnings = append(warnings, fmt.Sprintf("node %s: %d of %s are left out: knee counts whole GPUs, of one resource that ends in /gpu", out.Name, count, name))
		}
	}
	switch {
	case out.GPUs > 0 && out.GPUType == "":
		out.GPUType = "gpu"
		warnings = append(warnings, fmt.Sprintf("node %s: none of the labels %s tells the type of its GPUs; it is written as %q", out.Name, strings.Join(productLabels(), ", "), out.GPUType))
	case out.GPUs == 0:
		out.GPUs = int(math.Floor(out.CPUs))
	}
	return out, warnings
}

func productOf(n corev1.Node) string {
	for _, l := range productLabels() {
		if v := n.Labels[l]; v != "" {
			return data.GPUTypeOf(v)
		}
	}
	return ""
}

func drained(n corev1.Node) bool {
	unready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	}
	return n.Spec.Unschedulable || slices.ContainsFunc(n.Status.Conditions, unready) || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		// Pods with GPUs tolerate the taint that keeps other pods off GPU nodes.
		return t.Effect != corev1.TaintEffectPreferNoSchedule && !strings.HasSuffix(t.Key, "/gpu")
	})
}

// LabelValues returns the values, sorted, that a node label has for a GPU type: itself, or
// names that [data.GPUTypeOf] maps to it; if there are none, those of its variants (a100-80gb).
func LabelValues(ctx context.Context, c *Client, label, gpuType string) ([]string, error) {
	nodes, _, err := ListAll[corev1.Node](ctx, c, NodesPath(), metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return nil, err
	}
	found, variants := map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		switch v := n.Labels[label]; {
		case v == gpuType || data.GPUTypeOf(v) == gpuType:
			found[v] = true
		case strings.HasPrefix(data.GPUTypeOf(v), gpuType+"-"):
			variants[v] = true
		}
	}
	if len(found) == 0 {
		found = variants
	}
	return slices.Sorted(maps.Keys(found)), nil
}
