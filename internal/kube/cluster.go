package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// productLabels are where the type of a node's GPUs is written: by NVIDIA's
// and AMD's GPU feature discovery, and by GKE.
func productLabels() []string {
	return []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator"}
}

// Cluster describes the nodes of a cluster as knee sees machines, by name.
//
// GPUs are the allocatable whole devices of a node (nvidia.com/gpu, or what
// another vendor calls so), their type is that of the product label. A node
// without GPUs is a node of type cpu with a worker slot per whole core. Nodes
// that are cordoned, not ready, or kept by a taint from pods that only use
// GPUs are drained. What cannot be taken over is in the warnings.
func Cluster(ctx context.Context, c *Client) (*data.Cluster, []string, error) {
	nodes, _, err := ListAll[Node](ctx, c, NodesPath(), Selector{})
	if err != nil {
		return nil, nil, fmt.Errorf("list the nodes of %s: %w", c.Server, err)
	}
	if len(nodes) == 0 {
		return nil, nil, fmt.Errorf("the cluster at %s has no nodes", c.Server)
	}
	out := &data.Cluster{}
	var warnings []string
	for _, n := range nodes {
		node, w, err := describe(n)
		if err != nil {
			return nil, nil, fmt.Errorf("node %s: %w", n.Metadata.Name, err)
		}
		out.Nodes = append(out.Nodes, node)
		warnings = append(warnings, w...)
	}
	slices.SortFunc(out.Nodes, func(a, b data.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out, warnings, nil
}

func describe(n Node) (data.Node, []string, error) {
	out := data.Node{Name: n.Metadata.Name, GPUType: "cpu", Drained: drained(n)}
	cpus, err := Cores(n.Status.Allocatable["cpu"])
	if err != nil {
		return out, nil, fmt.Errorf("allocatable cpu: %w", err)
	}
	out.CPUs = cpus
	if m := n.Status.Allocatable["memory"]; m != "" {
		if out.Memory, err = data.ParseQuantity(m); err != nil {
			return out, nil, fmt.Errorf("allocatable memory: %w", err)
		}
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(n.Status.Allocatable)) {
		count, _ := strconv.Atoi(n.Status.Allocatable[name])
		switch {
		case count == 0:
		case strings.HasPrefix(name, "nvidia.com/mig-"):
			warnings = append(warnings, fmt.Sprintf("node %s: %d slices %s are left out: knee counts whole GPUs", out.Name, count, name))
		case strings.HasSuffix(name, "/gpu") && out.GPUs == 0:
			out.GPUs, out.GPUType = count, productOf(n)
		}
	}
	switch {
	case out.GPUs > 0 && out.GPUType == "":
		out.GPUType = "gpu"
		warnings = append(warnings, fmt.Sprintf("node %s: none of the labels %s tells the type of its GPUs; it is written as %q", out.Name, strings.Join(productLabels(), ", "), out.GPUType))
	case out.GPUs == 0:
		out.GPUs = int(math.Floor(cpus))
	}
	return out, warnings, nil
}

// productOf returns the GPU type of a node, empty if no label tells.
func productOf(n Node) string {
	for _, l := range productLabels() {
		if v := n.Metadata.Labels[l]; v != "" {
			return data.GPUTypeOf(v)
		}
	}
	return ""
}

func drained(n Node) bool {
	if n.Spec.Unschedulable {
		return true
	}
	if c := FindCondition(n.Status.Conditions, "Ready"); c != nil && c.Status != "True" {
		return true
	}
	return slices.ContainsFunc(n.Spec.Taints, func(t Taint) bool {
		// Pods that ask for GPUs tolerate the taint that keeps others away.
		return (t.Effect == "NoSchedule" || t.Effect == "NoExecute") && !strings.HasSuffix(t.Key, "/gpu")
	})
}

// Cores reads a quantity of CPU: "4", "3920m" or "0.5". None is 0.
func Cores(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	text, milli := strings.CutSuffix(s, "m")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a quantity of cores", s)
	}
	if milli {
		v /= 1000
	}
	return v, nil
}

// LabelValues returns the values of a node label that stand for a GPU type,
// in order: the type itself, or product names that [data.GPUTypeOf] reads as
// the type ("NVIDIA-A100-SXM4-80GB" for a100). None is no error.
func LabelValues(ctx context.Context, c *Client, label, gpuType string) ([]string, error) {
	nodes, _, err := ListAll[Node](ctx, c, NodesPath(), Selector{Labels: label})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, n := range nodes {
		if v := n.Metadata.Labels[label]; v == gpuType || data.GPUTypeOf(v) == gpuType {
			found[v] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
