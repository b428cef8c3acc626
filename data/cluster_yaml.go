package data

import (
	"cmp"
	"fmt"
	"io"

	"knee/internal/hostlist"
)

// clusterFile is cluster.yaml, where an entry may be a host list.
type clusterFile struct {
	Nodes    []nodeEntry `yaml:"nodes" want:"a list of nodes"`
	machines []Node      // one for each name
}

type nodeEntry struct {
	Node
	Source Source
	names  []string
}

func (f *clusterFile) validate(o *object) {
	seen := map[string]int{}
	for _, e := range f.Nodes {
		for _, name := range e.names {
			if line, dup := seen[name]; dup {
				o.y.fail(e.Source.Line, e.Source.Column+".name", quote(name)+fmt.Sprintf(", which line %d names too", line), "each node once")
			}
			seen[name] = e.Source.Line
			e.Name = name
			f.machines = append(f.machines, e.Node)
		}
		if len(f.machines) > hostlist.MaxHosts {
			o.y.fail(e.Source.Line, e.Source.Column+".name", fmt.Sprintf("%d nodes so far", len(f.machines)), fmt.Sprintf("at most %d", hostlist.MaxHosts))
			return
		}
	}
	if len(f.machines) == 0 {
		o.y.fail(1, "nodes", "nothing", "a list of at least one node")
	}
}

// ReadCluster reads cluster.yaml from r. Host lists ("a[01-04]") are
// expanded, so that the cluster has one entry per machine, in order.
func ReadCluster(r io.Reader, name string) (*Cluster, error) {
	f, err := readYAML(r, name, &clusterFile{})
	if err != nil {
		return nil, err
	}
	return &Cluster{Nodes: f.machines, Source: Source{File: name, Line: 1}}, nil
}

// maxNodeGPUs bounds the worker slots of one machine, above any that exists: a
// larger number is a mistake, and planning takes memory per slot.
const maxNodeGPUs = 4096

func (e *nodeEntry) validate(o *object) {
	if n := &e.Node; n.GPUType != GPUTypeOf(n.GPUType) {
		n.GPUType, n.GPUName = GPUTypeOf(n.GPUType), n.GPUType
	}
	if e.GPUs > maxNodeGPUs {
		o.fail("gpus", fmt.Sprint(e.GPUs), fmt.Sprintf("at most %d on one machine", maxNodeGPUs))
	}
	var err error
	if e.names, err = hostlist.Expand(e.Name); err != nil {
		o.fail("name", err.Error(), "a node name or a host list such as a[01-04]")
	}
}

// WriteCluster writes cluster.yaml. Consecutive nodes that differ only in their
// names become one entry with a host list. A cluster that [ReadCluster] would
// refuse is an error.
func WriteCluster(w io.Writer, c *Cluster) error {
	var f clusterFile
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
		alike.Name, alike.GPUType = hostlist.Compress(names), cmp.Or(alike.GPUName, alike.GPUType)
		f.Nodes = append(f.Nodes, nodeEntry{Node: alike})
	}
	return writeYAML(w, "cluster", &f, ReadCluster)
}
