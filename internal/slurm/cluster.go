package slurm

import (
	"context"
	"fmt"

	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// Cluster describes the nodes of the Slurm cluster that this machine belongs to. A
// GPU type has the cluster's name, in lower case, since jobs request it by name. The
// warnings name GPUs left out.
func Cluster(ctx context.Context) (*data.Cluster, []string, error) {
	nodes, err := Nodes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	c := &data.Cluster{}
	var warnings []string
	for _, n := range nodes {
		node, left := describe(n)
		c.Nodes = append(c.Nodes, node)
		warnings = append(warnings, left...)
	}
	return c, warnings, nil
}

// describe converts one node, and returns a warning for each kind of GPU left out.
func describe(n Node) (node data.Node, left []string) {
	node = data.Node{Name: n.Name, GPUType: "cpu", GPUs: n.CPUs, CPUs: float64(n.CPUs), Memory: n.Memory, Drained: !n.Usable()}
	typed := false
	for _, g := range n.GRES {
		switch {
		case g.Name != "gpu" || g.Count == 0:
			continue
		case !typed:
			typed = true
			if node.GPUType, node.GPUs = data.GPUTypeOf(g.Type), g.Count; g.Type != node.GPUType {
				node.GPUName = g.Type
			}
			if g.Type == "" {
				node.GPUType = "gpu"
			}
		case data.GPUTypeOf(g.Type) == node.GPUType:
			node.GPUs += g.Count
		default:
			left = append(left, fmt.Sprintf("node %s: %s of type %s left out: a node of cluster.yaml has one type of GPU, here %s", n.Name, english.Plural(g.Count, "GPU", ""), g.Type, node.GPUType))
		}
	}
	return node, left
}
