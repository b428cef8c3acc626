package data

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
}

// GPUTypes returns the GPU types of the cluster in order of appearance.
func (c *Cluster) GPUTypes() []string {
	var types []string
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if !seen[n.GPUType] {
			seen[n.GPUType] = true
			types = append(types, n.GPUType)
		}
	}
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

// PricePerGPU returns the US$ per GPU-hour of a type, averaged over its nodes.
func (c *Cluster) PricePerGPU(gpuType string) float64 {
	var price float64
	var gpus int
	for _, n := range c.Nodes {
		if n.GPUType == gpuType {
			price += n.PricePerHour
			gpus += n.GPUs
		}
	}
	if gpus == 0 {
		return 0
	}
	return price / float64(gpus)
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
