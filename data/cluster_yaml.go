package data

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"knee/internal/hostlist"
)

// ReadCluster reads cluster.yaml from r. Host lists ("a[01-04]") are
// expanded, so that the cluster has one entry per machine, in order.
func ReadCluster(r io.Reader, name string) (*Cluster, error) {
	y := &yamlReader{file: name}
	root := y.root(r, "nodes")
	c := &Cluster{Source: Source{File: name, Line: 1}}
	seen := map[string]int{}
	for i, n := range root.items("nodes", "a list of nodes") {
		o := y.object(n, fmt.Sprintf("nodes[%d]", i), "name", "gpu_type", "gpus", "cpus", "memory", "price_per_hour", "drained")
		for _, node := range readNodes(o) {
			if line, dup := seen[node.Name]; dup {
				o.fail("name", quote(node.Name)+fmt.Sprintf(", which line %d names too", line), "each node once")
			}
			seen[node.Name] = n.Line
			c.Nodes = append(c.Nodes, node)
		}
		if len(c.Nodes) > hostlist.MaxHosts {
			o.fail("name", fmt.Sprintf("%d nodes so far", len(c.Nodes)), fmt.Sprintf("at most %d", hostlist.MaxHosts))
		}
		if y.err != nil {
			return nil, y.err
		}
	}
	if len(c.Nodes) == 0 {
		root.fail("nodes", "nothing", "a list of at least one node")
	}
	if y.err != nil {
		return nil, y.err
	}
	return c, nil
}

// maxNodeGPUs bounds the accelerators, or worker slots, of one machine. It is
// above any that exist; a larger number is a slip, and planning on it would
// take memory for every slot.
const maxNodeGPUs = 4096

// readNodes reads one entry of the list, which may stand for many machines.
func readNodes(o *object) []Node {
	list := o.required("name", "a node name or a host list such as a[01-04]")
	n := Node{
		GPUType:      strings.ToLower(o.required("gpu_type", "a GPU type, or cpu for machines without accelerators")),
		GPUs:         o.whole("gpus", 0, 0),
		CPUs:         o.number("cpus", 0, NonNegative("cores")),
		Memory:       o.quantity("memory"),
		PricePerHour: o.number("price_per_hour", 0, price("US$ per hour and node")),
		Drained:      o.flag("drained"),
	}
	if name := o.scalar("gpu_type", "text"); name != n.GPUType {
		n.GPUName = name
	}
	if o.get("gpus") == nil {
		o.fail("gpus", "nothing", "the number of accelerators, or for cpu the workers the machine may hold")
	}
	if n.GPUs > maxNodeGPUs {
		o.fail("gpus", fmt.Sprint(n.GPUs), fmt.Sprintf("at most %d on one machine", maxNodeGPUs))
	}
	if o == nil || o.y.err != nil {
		return nil
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		o.fail("name", err.Error(), "a node name or a host list such as a[01-04]")
		return nil
	}
	nodes := make([]Node, len(names))
	for i, name := range names {
		nodes[i] = n
		nodes[i].Name = name
	}
	return nodes
}

// LoadCluster reads the cluster file at path, as [ReadCluster] does; see
// [Open] for "-" and compressed files.
func LoadCluster(path string) (*Cluster, error) {
	return load(path, ReadCluster)
}

// WriteCluster writes cluster.yaml. Neighbouring nodes that differ in their
// names only are folded into one entry with a host list. A cluster that
// [ReadCluster] would refuse is an error.
func WriteCluster(w io.Writer, c *Cluster) error {
	list := newYAMLList()
	for i := 0; i < len(c.Nodes); {
		alike := c.Nodes[i]
		var names []string
		for ; i < len(c.Nodes); i++ {
			n := c.Nodes[i]
			if n.Name, alike.Name = "", ""; n != alike {
				break
			}
			names = append(names, c.Nodes[i].Name)
		}
		list.Content = append(list.Content, nodeMap(alike, names).flow())
	}
	doc := newYAMLMap()
	doc.put("nodes", list)
	return writeYAML(w, "cluster", doc, func(r io.Reader) error {
		_, err := ReadCluster(r, "cluster")
		return err
	})
}

// nodeMap returns the entry for the named nodes, all of which are like n.
func nodeMap(n Node, names []string) yamlMap {
	m := newYAMLMap()
	m.text("name", hostlist.Compress(names))
	m.text("gpu_type", cmp.Or(n.GPUName, n.GPUType))
	m.put("gpus", numberNode(float64(n.GPUs)))
	m.number("cpus", n.CPUs)
	m.quantity("memory", n.Memory)
	m.number("price_per_hour", n.PricePerHour)
	m.flag("drained", n.Drained)
	return m
}
