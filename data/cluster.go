package data

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"knee/internal/grouped"
	"knee/internal/hostlist"
)

// Cluster is the contents of cluster.yaml: the machines to share.
type Cluster struct {
	Nodes  []Node `json:"nodes"` // one entry per machine, names expanded, in order
	Source Source `json:"-"`
}

// Node is one machine.
type Node struct {
	Name         string  `json:"name" yaml:"name,required" want:"a node name or a host list such as a[01-04]"`
	GPUType      string  `json:"gpu_type" yaml:"gpu_type,required" want:"a GPU type, or cpu for machines without accelerators"`                 // as of [GPUTypeOf]; "cpu" for a machine without accelerators
	GPUName      string  `json:"gpu_name,omitempty"`                                                                                            // the scheduler's name of the type, if different
	GPUs         int     `json:"gpus" yaml:"gpus,required,keep" want:"the number of accelerators, or for cpu the workers the machine may hold"` // worker slots
	CPUs         float64 `json:"cpus,omitempty" yaml:"cpus" is:"not negative" of:"cores"`                                                       // 0 means not limiting
	Memory       int64   `json:"memory,omitempty" yaml:"memory"`                                                                                // bytes; 0 means not limiting
	PricePerHour float64 `json:"price_per_hour,omitempty" yaml:"price_per_hour" is:"price" of:"US$ per hour and node"`                          // for the whole node
	Drained      bool    `json:"drained,omitempty" yaml:"drained"`                                                                              // nothing new may be placed here
	Spanned      bool    `json:"-"`                                                                                                             // by a job on several nodes that is not placed with the others
}

// GPUTypes returns the GPU types of the cluster in order of appearance.
func (c *Cluster) GPUTypes() []string {
	types, _ := grouped.By(c.Nodes, func(n Node) string { return n.GPUType })
	return types
}

// GPUName returns the scheduler's name of a GPU type, empty if it is the same.
func (c *Cluster) GPUName(gpuType string) string {
	for _, n := range c.Nodes {
		if n.GPUType == gpuType && n.GPUName != "" {
			return n.GPUName
		}
	}
	return ""
}

// PricePerGPU returns the US$ per GPU-hour of a type: the mean of its nodes, the lowest and
// the highest. Drained nodes count if there are no others.
func (c *Cluster) PricePerGPU(gpuType string) (mean, lo, hi float64) {
	_, of := grouped.By(c.Nodes, func(n Node) string { return n.GPUType })
	nodes := slices.DeleteFunc(slices.Clone(of[gpuType]), func(n Node) bool { return n.Drained })
	if len(nodes) == 0 {
		nodes = of[gpuType]
	}
	gpus := 0
	lo = math.Inf(1)
	for _, n := range nodes {
		gpus, mean = gpus+n.GPUs, mean+n.PricePerHour
		if n.GPUs > 0 {
			lo, hi = min(lo, n.PricePerHour/float64(n.GPUs)), max(hi, n.PricePerHour/float64(n.GPUs))
		}
	}
	return mean / float64(max(gpus, 1)), min(lo, hi), hi
}

// Slots returns the worker slots of all nodes that are not drained.
func (c *Cluster) Slots() int {
	var n int
	for _, node := range c.Nodes {
		if !node.Drained {
			n += node.GPUs
		}
	}
	return n
}

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

// ReadCluster reads cluster.yaml; host lists ("a[01-04]") become an entry per machine.
func ReadCluster(r io.Reader, name string) (*Cluster, error) {
	f, err := readYAML(r, name, &clusterFile{})
	if err != nil {
		return nil, err
	}
	return &Cluster{Nodes: f.machines, Source: Source{File: name, Line: 1}}, nil
}

// maxNodeGPUs bounds the slots of a machine, above any that exists: planning takes memory.
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

// WriteCluster writes cluster.yaml, with a host list for consecutive nodes that are alike.
// A cluster that [ReadCluster] would refuse is an error.
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
